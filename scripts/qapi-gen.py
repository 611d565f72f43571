#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Turns the QMP schema (qapi/*.json) into C and a reference page; docs/qapi.md describes both.

usage: qapi-gen.py OUTDIR FILE.json...

Writes OUTDIR/qapi-types.{h,c}, OUTDIR/qapi-events.c, OUTDIR/qmp-reference.md and, per schema file,
OUTDIR/qapi-NAME.{h,c}. A file whose text would not change is left alone, so that an edit of one
command does not rebuild every user of the types.
"""

import json
import os
import re
import sys

# schema name -> (C type, name of the run-time type in the library)
SCALARS = {
    'int': 'int64_t', 'int8': 'int8_t', 'int16': 'int16_t', 'int32': 'int32_t',
    'int64': 'int64_t', 'uint8': 'uint8_t', 'uint16': 'uint16_t', 'uint32': 'uint32_t',
    'uint64': 'uint64_t', 'size': 'uint64_t', 'number': 'double', 'bool': 'bool',
}
POINTERS = {'str': 'char *', 'any': 'JsonNode *'}
BUILTINS = set(SCALARS) | set(POINTERS) | {'null'}
JSON_TYPES = {'str': 'string', 'bool': 'boolean', 'null': 'null', 'number': 'number'}

# Words that cannot name a struct member: C's keywords, and macros of the platform's headers.
RESERVED = set('''auto break case char const continue default do double else enum extern float for
goto if inline int long register restrict return short signed sizeof static struct switch typedef
typeof union unsigned void volatile while asm bool true false errno unix linux i386'''.split())

DEFINERS = ('enum', 'struct', 'union', 'alternate', 'extend', 'command', 'event')
ALLOWED = {
    'enum': {'data', 'prefix', 'features'},
    'struct': {'data', 'base', 'features'},
    'union': {'data', 'base', 'discriminator', 'features'},
    'alternate': {'data', 'features'},
    'extend': {'case', 'data'},
    'command': {'data', 'returns', 'features', 'allow-oob', 'allow-preconfig',
                'allow-nested', 'reply-early', 'gen'},
    'event': {'data', 'features'},
}


class SchemaError(Exception):
    pass


def c_name(name):
    """The name of a member or command in C."""
    name = re.sub(r'[^A-Za-z0-9_]', '_', name)
    if name in RESERVED or name[0].isdigit():
        return 'q_' + name
    return name


def upper_name(name):
    """CamelCase or dashed to UPPER_CASE."""
    name = re.sub(r'([a-z0-9])([A-Z])', r'\1_\2', name)
    name = re.sub(r'([A-Z]+)([A-Z][a-z])', r'\1_\2', name)
    return re.sub(r'[^A-Za-z0-9_]', '_', name).upper()


def c_string(text):
    return json.dumps(text)


class Member:
    def __init__(self, name, spec, where):
        self.optional = name.startswith('*')
        self.name = name.lstrip('*')
        if isinstance(spec, dict):
            extra = set(spec) - {'type', 'doc', 'features'}
            if extra:
                raise SchemaError(f'{where}: unknown key {sorted(extra)[0]} of member {name}')
            self.type = spec['type']
            self.doc = spec.get('doc', '')
            self.features = spec.get('features', [])
        else:
            self.type, self.doc, self.features = spec, '', []
        self.c = c_name(self.name)


class Def:
    """One definition: enum, struct, union, alternate, command or event."""

    def __init__(self, kind, name, spec, module):
        self.kind, self.name, self.spec, self.module = kind, name, spec, module
        self.doc = spec.get('doc', '')
        self.features = spec.get('features', [])


class Schema:
    def __init__(self, paths):
        self.modules = []
        self.types = {}
        self.commands = {}
        self.events = {}
        self.extends = []
        for path in paths:
            module = os.path.splitext(os.path.basename(path))[0]
            self.modules.append(module)
            with open(path, encoding='utf-8') as f:
                try:
                    defs = json.load(f)
                except ValueError as e:
                    raise SchemaError(f'{path}: {e}') from None
            for spec in defs:
                self.add(spec, module, path)
        self.apply_extends()
        self.resolve()

    def add(self, spec, module, path):
        keys = [k for k in DEFINERS if k in spec]
        if len(keys) != 1:
            raise SchemaError(f'{path}: definition needs exactly one of {", ".join(DEFINERS)}: '
                              f'{json.dumps(spec)[:80]}')
        kind = keys[0]
        name = spec[kind]
        extra = set(spec) - ALLOWED[kind] - {kind, 'doc'}
        if extra:
            raise SchemaError(f'{path}: unknown key {sorted(extra)[0]} of {kind} {name}')
        if kind != 'extend' and not spec.get('doc'):
            raise SchemaError(f'{path}: {kind} {name} has no doc')
        if kind == 'extend':
            self.extends.append((spec, path))
            return
        table = {'command': self.commands, 'event': self.events}.get(kind, self.types)
        if name in table or name in BUILTINS:
            raise SchemaError(f'{path}: {name} is defined twice')
        table[name] = Def(kind, name, spec, module)

    def apply_extends(self):
        for spec, path in self.extends:
            union = self.types.get(spec['extend'])
            if union is None or union.kind != 'union':
                raise SchemaError(f'{path}: extend of {spec["extend"]}, which is no union')
            case = spec['case']
            if case in union.spec['data']:
                raise SchemaError(f'{path}: {union.name} has a case {case} already')
            if 'data' in spec:
                union.spec['data'][case] = spec['data']
            enum = self.types[self.tag_of(union).type]
            if case not in [self.enum_name(v) for v in enum.spec['data']]:
                enum.spec['data'].append(case)

    @staticmethod
    def enum_name(value):
        return value['name'] if isinstance(value, dict) else value

    def members_of(self, data, where):
        """Members of an object literal, or of a named struct with its base."""
        if data is None:
            return []
        if isinstance(data, str):
            t = self.types.get(data)
            if t is None or t.kind not in ('struct', 'union'):
                raise SchemaError(f'{where}: {data} is no struct')
            return self.members(t)
        return [Member(k, v, where) for k, v in data.items()]

    def members(self, d):
        """Members of a struct (base first), or the common members of a union."""
        own = [] if d.kind == 'union' else self.members_of(d.spec.get('data', {}), d.name)
        return self.members_of(d.spec.get('base'), d.name) + own

    def tag_of(self, union):
        for m in self.members(union):
            if m.name == union.spec['discriminator']:
                return m
        raise SchemaError(f'{union.name}: no base member {union.spec["discriminator"]}')

    def check_type(self, t, where):
        if isinstance(t, list):
            if len(t) != 1 or isinstance(t[0], list):
                raise SchemaError(f'{where}: a list names one type')
            t = t[0]
        if t not in BUILTINS and t not in self.types:
            raise SchemaError(f'{where}: unknown type {t}')

    def resolve(self):
        for d in self.types.values():
            if d.kind in ('struct', 'union'):
                seen = set()
                for m in self.members(d):
                    self.check_type(m.type, d.name)
                    if m.type == 'null' or m.c in seen or 'has_' + m.c in seen:
                        raise SchemaError(f'{d.name}: bad member {m.name}')
                    seen.add(m.c)
            if d.kind == 'union':
                values = [self.enum_name(v)
                          for v in self.types[self.tag_of(d).type].spec['data']]
                for case, branch in d.spec['data'].items():
                    if case not in values:
                        raise SchemaError(f'{d.name}: {case} is no value of the discriminator')
                    t = self.types.get(branch)
                    if t is None or t.kind not in ('struct', 'union'):
                        raise SchemaError(f'{d.name}: branch {case} is no struct')
            if d.kind == 'alternate':
                seen = set()
                for name, t in d.spec['data'].items():
                    self.check_type(t, d.name)
                    j = self.json_type(t)
                    if j in seen or ({j} | seen) >= {'integer', 'number'} or t == 'any':
                        raise SchemaError(f'{d.name}: branch {name} cannot be told apart')
                    seen.add(j)
        for d in list(self.commands.values()) + list(self.events.values()):
            for m in self.members_of(d.spec.get('data'), d.name):
                self.check_type(m.type, d.name)
            if 'returns' in d.spec:
                self.check_type(d.spec['returns'], d.name)

    def json_type(self, t):
        if isinstance(t, list):
            return 'array'
        if t in JSON_TYPES:
            return JSON_TYPES[t]
        if t in SCALARS:
            return 'integer'
        return 'string' if self.types[t].kind == 'enum' else 'object'

    # ---- how a schema type looks in C ----

    def is_pointer(self, t):
        return (isinstance(t, list) or t in POINTERS
                or (t in self.types and self.types[t].kind != 'enum'))

    def c_type(self, t):
        """C type of a member, ending in '*' or a blank so that a name can follow."""
        if isinstance(t, list):
            return 'GPtrArray *' if self.is_pointer(t[0]) else 'GArray *'
        if t in POINTERS:
            return POINTERS[t]
        if t in SCALARS:
            return SCALARS[t] + ' '
        return t + (' ' if self.types[t].kind == 'enum' else ' *')

    def c_param(self, t):
        """C type of a parameter that is only read."""
        c = self.c_type(t)
        if t == 'str' or (not isinstance(t, list) and t in self.types and self.is_pointer(t)):
            return 'const ' + c
        return c

    def type_ref(self, t):
        """Name of the QapiType of a schema type."""
        if isinstance(t, list):
            return 'qapi_list_' + t[0]
        if t in BUILTINS:
            return 'qapi_builtin_' + t
        return 'qapi_type_' + t

    def enum_prefix(self, d):
        return d.spec.get('prefix') or upper_name(d.name)

    def by_value_order(self):
        """Structs and unions so that each stands after those it contains by value."""
        order, state = [], {}

        def visit(d):
            if state.get(d.name) == 2:
                return
            if state.get(d.name) == 1:
                raise SchemaError(f'{d.name} contains itself')
            state[d.name] = 1
            if d.kind == 'union':
                for branch in d.spec['data'].values():
                    visit(self.types[branch])
            state[d.name] = 2
            order.append(d)

        for d in self.types.values():
            if d.kind != 'enum':
                visit(d)
        return order


HEAD = '/* Generated by scripts/qapi-gen.py from the schema. Do not edit. */\n'


class Gen:
    def __init__(self, schema):
        self.s = schema

    # ---- declarations ----

    def struct_body(self, members):
        out = []
        for m in members:
            if m.optional and not self.s.is_pointer(m.type):
                out.append(f'    bool has_{m.c};')
            out.append(f'    {self.s.c_type(m.type)}{m.c};')
        return out

    def types_h(self):
        s = self.s
        out = [HEAD + '#ifndef QAPI_TYPES_H', '#define QAPI_TYPES_H', '',
               '#include "qapi/qapi.h"', '#include "qapi/qapi-type.h"', '']
        for d in s.types.values():
            if d.kind == 'enum':
                prefix = s.enum_prefix(d)
                out.append('typedef enum {')
                for v in d.spec['data']:
                    out.append(f'    {prefix}_{upper_value(s.enum_name(v))},')
                out.append(f'    {prefix}__MAX,')
                out.append(f'}} {d.name};')
                out.append(f'extern const QapiEnum qapi_enum_{d.name};')
                out.append('')
        for d in s.types.values():
            if d.kind != 'enum':
                out.append(f'typedef struct {d.name} {d.name};')
        out.append('')
        for d in s.by_value_order():
            if d.kind == 'alternate':
                out.append('typedef enum {')
                for name in d.spec['data']:
                    out.append(f'    {upper_name(d.name)}_KIND_{c_name(name)},')
                out.append(f'}} {d.name}Kind;')
            out.append(f'struct {d.name} {{')
            if d.kind == 'alternate':
                out.append('    int type;')
                out.append('    union {')
                for name, t in d.spec['data'].items():
                    if t != 'null':
                        out.append(f'        {s.c_type(t)}{c_name(name)};')
                out.append('        void *none;')
                out.append('    } u;')
            else:
                body = self.struct_body(s.members(d))
                if d.kind == 'union':
                    body.append('    union {')
                    for case, branch in d.spec['data'].items():
                        body.append(f'        {branch} {c_name(case)};')
                    body.append('        char none;')
                    body.append('    } u;')
                out += body or ['    char none;']
            out.append('};')
            out.append('')
        for d in s.types.values():
            n = d.name
            out.append(f'extern const QapiType qapi_type_{n};')
            if d.kind != 'enum':
                out.append(f'{n} *qapi_decode_{n}(JsonNode *value, QapiForm form, Error **errp);')
                out.append(f'JsonNode *qapi_encode_{n}(const {n} *value);')
                out.append(f'void qapi_free_{n}({n} *value);')
                out.append(f'G_DEFINE_AUTOPTR_CLEANUP_FUNC({n}, qapi_free_{n})')
                out.append('')
        for t in self.list_elements():
            out.append(f'extern const QapiType qapi_list_{t};')
        out += ['', '#endif', '']
        return '\n'.join(out)

    def list_elements(self):
        """Types of which lists are used anywhere."""
        s, seen = self.s, {}

        def note(t):
            if isinstance(t, list):
                seen[t[0]] = True

        for d in s.types.values():
            if d.kind in ('struct', 'union'):
                for m in s.members(d):
                    note(m.type)
            elif d.kind == 'alternate':
                for t in d.spec['data'].values():
                    note(t)
        for d in list(s.commands.values()) + list(s.events.values()):
            for m in s.members_of(d.spec.get('data'), d.name):
                note(m.type)
            note(d.spec.get('returns'))
        return list(seen)

    # ---- run-time tables ----

    def features(self, features):
        if not features:
            return 'NULL'
        return ('(const char *const[]){ ' + ', '.join(c_string(f) for f in features) + ', NULL }')

    def member_table(self, name, struct, members):
        s = self.s
        out = [f'static const QapiMember {name}[] = {{']
        for m in members:
            has = 'QAPI_NO_HAS'
            if m.optional and not s.is_pointer(m.type):
                has = f'offsetof({struct}, has_{m.c})'
            out.append(f'    {{ {c_string(m.name)}, &{s.type_ref(m.type)}, '
                       f'offsetof({struct}, {m.c}), {has}, {str(m.optional).lower()}, '
                       f'{self.features(m.features)} }},')
        out.append('};')
        return out

    def struct_table(self, static, var, name, struct, members, features, extra=''):
        out = []
        ref = 'NULL'
        if members:
            ref = f'members_{name}'
            out += self.member_table(ref, struct, members)
        out.append(f'{static}const QapiType {var} = {{')
        out.append(f'    .kind = {"QAPI_UNION" if extra else "QAPI_STRUCT"}, .name = '
                   f'{c_string(name)}, .size = sizeof({struct}), .features = '
                   f'{self.features(features)},')
        out.append(f'    .members = {ref}, .n_members = {len(members)},')
        if not static and not var.startswith('qapi_event_type_'):
            out.append(f'    .free = (GDestroyNotify)qapi_free_{name},')
        if extra:
            out.append(extra)
        out += ['};', '']
        return out

    def types_c(self):
        s = self.s
        out = [HEAD + '#include "qapi/qapi-types.h"', '']
        for d in s.types.values():
            n = d.name
            if d.kind == 'enum':
                values = [s.enum_name(v) for v in d.spec['data']]
                out.append(f'const QapiEnum qapi_enum_{n} = {{')
                out.append(f'    {c_string(n)},')
                out.append('    (const char *const[]){')
                out += [f'        {c_string(v)},' for v in values]
                out += ['        NULL,', '    },', '};', '']
                feats = 'NULL'
                if any(isinstance(v, dict) and v.get('features') for v in d.spec['data']):
                    feats = f'value_features_{n}'
                    out.append(f'static const char *const *const {feats}[] = {{')
                    for v in d.spec['data']:
                        f = v.get('features') if isinstance(v, dict) else None
                        out.append(f'    {self.features(f)},')
                    out += ['};', '']
                out.append(f'const QapiType qapi_type_{n} = {{')
                out.append(f'    .kind = QAPI_ENUM, .name = {c_string(n)}, .size = sizeof({n}),')
                out.append(f'    .features = {self.features(d.features)}, .enumeration = '
                           f'&qapi_enum_{n}, .value_features = {feats},')
                out += ['};', '']
            elif d.kind == 'struct':
                out += self.struct_table('', f'qapi_type_{n}', n, n, s.members(d), d.features)
            elif d.kind == 'union':
                members = s.members(d)
                tag = s.tag_of(d)
                enum = s.types[tag.type]
                out.append(f'static const QapiType *const branches_{n}[] = {{')
                for v in enum.spec['data']:
                    branch = d.spec['data'].get(s.enum_name(v))
                    out.append(f'    {"&qapi_type_" + branch if branch else "NULL"},')
                # Zeroed memory is a valid union even while the enumeration has no values.
                out += ['    NULL,', '};']
                index = [m.name for m in members].index(tag.name)
                out += self.struct_table(
                    '', f'qapi_type_{n}', n, n, members, d.features,
                    f'    .tag = {index}, .branches = branches_{n}, '
                    f'.u_offset = offsetof({n}, u),')
            else:
                out.append(f'static const QapiAlternate alternates_{n}[] = {{')
                for t in d.spec['data'].values():
                    out.append(f'    {{ QAPI_JSON_{s.json_type(t).upper()}, '
                               f'&{s.type_ref(t)} }},')
                out.append('};')
                out.append(f'const QapiType qapi_type_{n} = {{')
                out.append(f'    .kind = QAPI_ALTERNATE, .name = {c_string(n)}, '
                           f'.size = sizeof({n}), .features = {self.features(d.features)},')
                out.append(f'    .alternates = alternates_{n}, .n_alternates = '
                           f'{len(d.spec["data"])}, .u_offset = offsetof({n}, u),')
                out.append(f'    .free = (GDestroyNotify)qapi_free_{n},')
                out += ['};', '']
            if d.kind != 'enum':
                out += [f'{n} *qapi_decode_{n}(JsonNode *value, QapiForm form, Error **errp)',
                        '{', f'    return qapi_decode_new(&qapi_type_{n}, value, form, errp);',
                        '}', '', f'JsonNode *qapi_encode_{n}(const {n} *value)',
                        '{', f'    return qapi_encode(&qapi_type_{n}, value);', '}', '',
                        f'void qapi_free_{n}({n} *value)',
                        '{', f'    qapi_free(&qapi_type_{n}, value);', '}', '']
        for t in self.list_elements():
            out.append(f'const QapiType qapi_list_{t} = {{')
            out.append(f'    .kind = QAPI_LIST, .name = {c_string(t + "List")}, '
                       f'.size = sizeof(void *), .element = &{s.type_ref(t)},')
            out += ['};', '']
        return '\n'.join(out)

    # ---- commands and events ----

    def result_type(self, t):
        if t is None:
            return 'bool '
        if not self.s.is_pointer(t):
            raise SchemaError(f'a command cannot return {t}')
        return self.s.c_type(t)

    def command_args(self, d):
        """(C type of the arguments or None, whether it is the command's own struct)."""
        data = d.spec.get('data')
        if data is None or (isinstance(data, dict) and not data):
            return None, False
        if isinstance(data, str):
            return data, False
        return f'q_{c_name(d.name)}_args', True

    def is_raw(self, d):
        return d.spec.get('gen', True) is False

    def handler(self, d):
        args, _ = self.command_args(d)
        if self.is_raw(d):
            res = 'JsonNode *' if 'returns' in d.spec else 'bool '
            param = 'JsonNode *args, ' if args else ''
        else:
            res = self.result_type(d.spec.get('returns'))
            param = f'const {args} *args, ' if args else ''
        return f'{res}qmp_{c_name(d.name)}({param}Error **errp)'

    def event_members(self, d):
        return self.s.members_of(d.spec.get('data'), d.name)

    def event_proto(self, d):
        params = []
        for m in self.event_members(d):
            if m.optional and not self.s.is_pointer(m.type):
                params.append(f'bool has_{m.c}')
            params.append(f'{self.s.c_param(m.type)}{m.c}')
        return f'void qapi_event_send_{c_name(d.name)}({", ".join(params) or "void"})'

    def module_h(self, module):
        s = self.s
        guard = 'QAPI_' + upper_name(module) + '_H'
        out = [HEAD + f'#ifndef {guard}', f'#define {guard}', '',
               '#include "qapi/qapi-types.h"', '']
        for d in s.commands.values():
            if d.module != module:
                continue
            args, own = self.command_args(d)
            if own:
                out.append(f'typedef struct {args} {{')
                out += self.struct_body(s.members_of(d.spec['data'], d.name))
                out.append(f'}} {args};')
            out.append(self.handler(d) + ';')
            out.append(f'extern const QmpCommand qmp_command_{c_name(d.name)};')
            out.append('')
        for d in s.events.values():
            if d.module == module:
                out.append(self.event_proto(d) + ';')
        out += ['', '#endif', '']
        return '\n'.join(out)

    def command_c(self, d):
        s = self.s
        n = c_name(d.name)
        args, own = self.command_args(d)
        returns = d.spec.get('returns')
        out = []
        arg_type = 'qapi_builtin_empty'
        if own:
            arg_type = f'type_args_{n}'
            out += self.struct_table('static ', arg_type, f'q_{n}_args', args,
                                     s.members_of(d.spec['data'], d.name), [])
        elif args:
            arg_type = f'qapi_type_{args}'
        # Commands that nothing implements are never registered, so never called: their handlers
        # need not exist.
        out.append(f'#pragma weak qmp_{n}')
        out.append(f'static JsonNode *call_{n}(JsonNode *args, Error **errp)')
        out.append('{')
        if self.is_raw(d):
            call = f'qmp_{n}({"args, " if args else ""}errp)'
            if not args:
                out += ['    if (!qapi_decode_args(&qapi_builtin_empty, args, NULL, errp)) {',
                        '        return NULL;', '    }']
            if returns:
                out.append(f'    return {call};')
            else:
                out.append(f'    return {call} ? qapi_empty_object() : NULL;')
        else:
            if args:
                out.append(f'    {args} a = {{ 0 }};')
            out.append('    JsonNode *result = NULL;')
            out.append('')
            out.append(f'    if (!qapi_decode_args(&{arg_type}, args, {"&a" if args else "NULL"}, '
                       'errp)) {')
            out += ['        return NULL;', '    }']
            call = f'qmp_{n}({"&a, " if args else ""}errp)'
            if returns:
                c = s.c_type(returns)
                ref = s.type_ref(returns)
                boxed = not isinstance(returns, list) and returns not in POINTERS
                out.append(f'    {c}value = {call};')
                out.append('    if (value) {')
                if boxed:
                    out.append(f'        result = qapi_encode(&{ref}, value);')
                    out.append(f'        qapi_free(&{ref}, value);')
                else:
                    out.append(f'        result = qapi_encode(&{ref}, &value);')
                    out.append(f'        qapi_release(&{ref}, &value);')
                out.append('    }')
            else:
                out.append(f'    if ({call}) {{')
                out.append('        result = qapi_empty_object();')
                out.append('    }')
            if args:
                out.append(f'    qapi_release(&{arg_type}, &a);')
            out.append('    return result;')
        out += ['}', '']
        flags = [f for k, f in (('allow-oob', 'QMP_ALLOW_OOB'),
                                ('allow-preconfig', 'QMP_ALLOW_PRECONFIG'),
                                ('allow-nested', 'QMP_ALLOW_NESTED'),
                                ('reply-early', 'QMP_REPLY_EARLY')) if d.spec.get(k)]
        out.append(f'const QmpCommand qmp_command_{n} = {{')
        out.append(f'    .name = {c_string(d.name)}, .flags = {" | ".join(flags) or "0"}, '
                   f'.call = call_{n}, .enabled = true,')
        ret = '&' + s.type_ref(returns) if returns is not None else '&qapi_builtin_empty'
        out.append(f'    .arg_type = &{arg_type}, .ret_type = {ret},')
        out.append(f'    .features = {self.features(d.features)},')
        out += ['};', '']
        return out

    def event_c(self, d):
        n = c_name(d.name)
        members = self.event_members(d)
        out = []
        if members:
            out += [f'typedef struct event_{n} {{'] + self.struct_body(members)
            out += [f'}} event_{n};']
            out += self.struct_table('', f'qapi_event_type_{n}', f'q_{n}_arg', f'event_{n}',
                                     members, [])
        out += [self.event_proto(d), '{']
        if members:
            out.append(f'    event_{n} e = {{')
            for m in members:
                if m.optional and not self.s.is_pointer(m.type):
                    out.append(f'        .has_{m.c} = has_{m.c},')
                cast = ''
                if self.s.c_param(m.type).startswith('const '):
                    cast = f'({self.s.c_type(m.type)})'
                out.append(f'        .{m.c} = {cast}{m.c},')
            out.append('    };')
            out.append(f'    qapi_event_emit({c_string(d.name)}, '
                       f'qapi_encode(&qapi_event_type_{n}, &e));')
        else:
            out.append(f'    qapi_event_emit({c_string(d.name)}, NULL);')
        out += ['}', '']
        return out

    def module_c(self, module):
        out = [HEAD + f'#include "qapi/qapi-{module}.h"', '']
        for d in self.s.commands.values():
            if d.module == module:
                out += self.command_c(d)
        for d in self.s.events.values():
            if d.module == module:
                if self.event_members(d):
                    out.append(f'extern const QapiType qapi_event_type_{c_name(d.name)};')
                out += self.event_c(d)
        return '\n'.join(out)

    def events_c(self):
        """The list of events, for the schema reply."""
        out = [HEAD + '#include "qapi/qapi-type.h"', '']
        events = list(self.s.events.values())
        for d in events:
            if self.event_members(d):
                out.append(f'extern const QapiType qapi_event_type_{c_name(d.name)};')
        out += ['', 'const QapiEvent qapi_events[] = {']
        for d in events:
            ref = (f'&qapi_event_type_{c_name(d.name)}' if self.event_members(d)
                   else '&qapi_builtin_empty')
            out.append(f'    {{ {c_string(d.name)}, {ref}, {self.features(d.features)} }},')
        out += ['    { NULL, NULL, NULL },', '};', '']
        return '\n'.join(out)

    # ---- reference page ----

    def type_text(self, t):
        if isinstance(t, list):
            return 'list of ' + self.type_text(t[0])
        return f'[{t}](#{t.lower()})' if t in self.s.types else t

    def member_lines(self, members):
        out = []
        for m in members:
            line = f'- `{m.name}`: {self.type_text(m.type)}'
            if m.optional:
                line += ', optional'
            if m.features:
                line += ' (' + ', '.join(m.features) + ')'
            if m.doc:
                line += '. ' + m.doc
            out.append(line)
        return out

    def entry(self, d):
        s = self.s
        out = [f'### {d.name}', '']
        if d.doc:
            out += [d.doc, '']
        body = []
        if d.kind in ('command', 'event'):
            data = d.spec.get('data')
            if isinstance(data, str):
                body.append(f'Arguments: {self.type_text(data)}.')
            elif data:
                body += self.member_lines(s.members_of(data, d.name))
            if 'returns' in d.spec:
                body += ([''] if body else []) + [f'Returns {self.type_text(d.spec["returns"])}.']
        elif d.kind == 'enum':
            for v in d.spec['data']:
                doc = v.get('doc', '') if isinstance(v, dict) else ''
                body.append(f'- `{s.enum_name(v)}`' + (': ' + doc if doc else ''))
        elif d.kind == 'struct':
            body += self.member_lines(s.members(d))
        elif d.kind == 'union':
            body += self.member_lines(s.members(d))
            body += ['', f'and, depending on `{d.spec["discriminator"]}`:', '']
            body += [f'- `{case}`: {self.type_text(t)}' for case, t in d.spec['data'].items()]
        else:
            body += [f'- {self.type_text(t)} (`{n}`)' for n, t in d.spec['data'].items()]
        if body:
            out += body + ['']
        notes = []
        if d.spec.get('allow-oob'):
            notes.append('may run out of band')
        if d.spec.get('allow-preconfig'):
            notes.append('works in the preconfig state')
        if d.spec.get('allow-nested'):
            notes.append('runs while a command of another client waits')
        if d.spec.get('reply-early'):
            notes.append('its reply waits no longer than a moment for storage')
        if d.features:
            notes.append('features: ' + ', '.join(f'`{f}`' for f in d.features))
        if notes:
            text = '; '.join(notes)
            out += [text[0].upper() + text[1:] + '.', '']
        return out

    def reference(self):
        s = self.s
        out = ['# QMP reference', '', 'Generated from `qapi/*.json` when the project is built.', '']
        for title, table in (('Commands', s.commands), ('Events', s.events), ('Types', s.types)):
            out += [f'## {title}', '']
            for name in sorted(table, key=lambda n: (n.lower(), n)):
                out += self.entry(table[name])
        return '\n'.join(out)


def upper_value(value):
    return re.sub(r'[^A-Za-z0-9_]', '_', value).upper()


def write_if_changed(path, text):
    try:
        with open(path, encoding='utf-8') as f:
            if f.read() == text:
                return
    except FileNotFoundError:
        pass
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    outdir = sys.argv[1]
    try:
        schema = Schema(sys.argv[2:])
        gen = Gen(schema)
        files = {
            'qapi-types.h': gen.types_h(),
            'qapi-types.c': gen.types_c(),
            'qapi-events.c': gen.events_c(),
            'qmp-reference.md': gen.reference(),
        }
        for module in schema.modules:
            files[f'qapi-{module}.h'] = gen.module_h(module)
            files[f'qapi-{module}.c'] = gen.module_c(module)
    except SchemaError as e:
        sys.exit(f'qapi-gen: {e}')
    for name, text in files.items():
        write_if_changed(os.path.join(outdir, name), text)


if __name__ == '__main__':
    main()
