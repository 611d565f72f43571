/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * -object secret: a password or key, given as it stands, in a file, or encrypted by the key that
 * another secret is (AES-256, cipher block chaining).
 */
#include "qom/secret.h"

#include <string.h>

#include "qapi/qapi-qom.h"

#ifdef CONFIG_NETTLE
#include <nettle/aes.h>
#include <nettle/cbc.h>
#endif

#define KEY_SIZE   32
#define BLOCK_SIZE 16

typedef struct Secret {
    Object parent_obj;
    char *data, *file;
    QCryptoSecretFormat format;
    char *keyid, *iv;
    GBytes *value; /* NULL before it is complete */
} Secret;

#define SECRET(obj) OBJECT_CHECK(Secret, obj, TYPE_SECRET)

static void wipe(void *p, size_t len)
{
    explicit_bzero(p, len);
    g_free(p);
}

typedef struct Buffer {
    guint8 *bytes;
    gsize len;
} Buffer;

static void buffer_clear(Buffer *b)
{
    if (b->bytes) {
        wipe(b->bytes, b->len);
    }
    *b = (Buffer){ NULL, 0 };
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Buffer, buffer_clear)

static bool base64_decode(const char *text, size_t len, Buffer *out, Error **errp)
{
    g_autofree char *copy = NULL;

    for (size_t i = 0; i < len; i++) {
        if (!g_ascii_isalnum(text[i]) && !strchr("+/=\n", text[i])) {
            error_set(errp, "Base64 data contains invalid characters");
            return false;
        }
    }
    copy = g_strndup(text, len);
    out->bytes = g_base64_decode(copy, &out->len);
    explicit_bzero(copy, len);
    return true;
}

static bool load(const Secret *s, Buffer *out, Error **errp)
{
    g_autoptr(GError) err = NULL;

    if (s->file && s->data) {
        error_set(errp, "'file' and 'data' are mutually exclusive");
        return false;
    }
    if (!s->file && !s->data) {
        error_set(errp, "Either 'file' or 'data' must be provided");
        return false;
    }
    if (s->data) {
        out->len = strlen(s->data);
        out->bytes = (guint8 *)g_strdup(s->data);
        return true;
    }
    if (!g_file_get_contents(s->file, (char **)&out->bytes, &out->len, &err)) {
        error_set(errp, "Unable to read %s: %s", s->file, err->message);
        return false;
    }
    return true;
}

#ifdef CONFIG_NETTLE
static bool decrypt_blocks(const Buffer *key, const Buffer *iv, Buffer *data, Error **errp)
{
    struct CBC_CTX(struct aes256_ctx, BLOCK_SIZE) ctx;

    aes256_set_decrypt_key(&ctx.ctx, key->bytes);
    CBC_SET_IV(&ctx, iv->bytes);
    CBC_DECRYPT(&ctx, aes256_decrypt, data->len, data->bytes, data->bytes);
    explicit_bzero(&ctx, sizeof(ctx));
    return true;
}
#else
static bool decrypt_blocks(const Buffer *key, const Buffer *iv, Buffer *data, Error **errp)
{
    error_set(errp, "keyid: this build has no library for decryption (nettle)");
    return false;
}
#endif

/* What was encrypted is filled up to a multiple of the block size; each byte of the filling is its
 * length. */
static bool strip_padding(Buffer *data, Error **errp)
{
    unsigned n = data->len ? data->bytes[data->len - 1] : 0;

    if (n < 1 || n > BLOCK_SIZE || n > data->len) {
        error_set(errp, "Incorrect number of padding bytes (%u) found on decrypted data", n);
        return false;
    }
    data->len -= n;
    return true;
}

static bool decrypt(const Secret *s, Buffer *data, Error **errp)
{
    g_auto(Buffer) key = { NULL, 0 };
    g_auto(Buffer) iv = { NULL, 0 };
    g_auto(Buffer) coded = { NULL, 0 };

    if (!secret_lookup(s->keyid, &key.bytes, &key.len, errp)) {
        return false;
    }
    if (key.len != KEY_SIZE) {
        error_set(errp, "Key should be %d bytes in length", KEY_SIZE);
        return false;
    }
    if (!s->iv) {
        error_set(errp, "IV is required to decrypt secret");
        return false;
    }
    if (!base64_decode(s->iv, strlen(s->iv), &iv, errp)) {
        return false;
    }
    if (iv.len != BLOCK_SIZE) {
        error_set(errp, "IV should be %d bytes in length not %zu", BLOCK_SIZE, iv.len);
        return false;
    }
    if (s->format == Q_CRYPTO_SECRET_FORMAT_BASE64) {
        coded = *data;
        *data = (Buffer){ NULL, 0 };
        if (!base64_decode((const char *)coded.bytes, coded.len, data, errp)) {
            return false;
        }
    }
    if (data->len % BLOCK_SIZE) {
        error_set(errp, "Length %zu must be a multiple of block size %d", data->len, BLOCK_SIZE);
        return false;
    }
    return decrypt_blocks(&key, &iv, data, errp) && strip_padding(data, errp);
}

static bool secret_complete(Object *obj, Error **errp)
{
    Secret *s = SECRET(obj);
    g_auto(Buffer) data = { NULL, 0 };

    if (!load(s, &data, errp)) {
        return false;
    }
    if (s->keyid) {
        if (!decrypt(s, &data, errp)) {
            return false;
        }
    } else if (s->format == Q_CRYPTO_SECRET_FORMAT_BASE64) {
        g_auto(Buffer) coded = data;

        data = (Buffer){ NULL, 0 };
        if (!base64_decode((const char *)coded.bytes, coded.len, &data, errp)) {
            return false;
        }
    }
    s->value = g_bytes_new(data.bytes, data.len);
    return true;
}

static void secret_finalize(Object *obj)
{
    Secret *s = SECRET(obj);

    if (s->value) {
        gsize len;
        void *p = g_bytes_unref_to_data(g_steal_pointer(&s->value), &len);

        wipe(p, len);
    }
    if (s->data) {
        explicit_bzero(s->data, strlen(s->data));
    }
}

bool secret_lookup(const char *id, guint8 **bytes, gsize *len, Error **errp)
{
    Object *obj = object_child(object_objects_root(), id);

    if (!obj) {
        error_set(errp, "No secret with id '%s'", id);
        return false;
    }
    if (!object_is(obj, TYPE_SECRET)) {
        error_set(errp, "Object with id '%s' is not a secret", id);
        return false;
    }
    if (!SECRET(obj)->value) {
        error_set(errp, "Secret with id '%s' has no data", id);
        return false;
    }
    *bytes = g_memdup2(g_bytes_get_data(SECRET(obj)->value, len),
                       g_bytes_get_size(SECRET(obj)->value));
    return true;
}

#define SECRET_STRING(n, field)                                                                    \
    { .name = (n), .type = &prop_object_string, .offset = PROP_FIELD(Secret, field) }

static const Property secret_props[] = {
    SECRET_STRING("data", data),
    SECRET_STRING("file", file),
    PROP_ENUM("format", Secret, format, qapi_enum_QCryptoSecretFormat,
              Q_CRYPTO_SECRET_FORMAT_RAW),
    SECRET_STRING("iv", iv),
    SECRET_STRING("keyid", keyid),
    PROP_END,
};

static void secret_class_init(ObjectClass *klass, const void *data)
{
    klass->complete = secret_complete;
}

static const TypeInfo secret_info = {
    .name = TYPE_SECRET,
    .parent = "object",
    .instance_size = sizeof(Secret),
    .props = secret_props,
    .class_init = secret_class_init,
    .instance_finalize = secret_finalize,
    .user_creatable = true,
};
TYPE_REGISTER(secret_info)
