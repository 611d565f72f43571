-id 8006
-name simple,debug-threads=on
-no-shutdown
-chardev socket,id=qmp,path=@DIR@/8006.qmp,server=on,wait=off
-mon chardev=qmp,mode=control
-pidfile @DIR@/8006.pid
-smp 3,sockets=1,cores=3,maxcpus=3
-nodefaults
-boot menu=on,strict=on,reboot-timeout=1000
-cpu kvm64,enforce,+kvm_pv_eoi,+kvm_pv_unhalt,+lahf_lm,+sep
-m 768
-object iothread,id=iothread-virtio0
-object {"id":"throttle-drive-virtio0","limits":{"iops-total":500,"iops-total-max":600,"iops-total-max-length":2},"qom-type":"throttle-group"}
-object iothread,id=iothread-virtio1
-object {"id":"throttle-drive-virtio1","limits":{"bps-read":1048576},"qom-type":"throttle-group"}
-device pci-bridge,id=pci.1,chassis_nr=1,bus=pci.0,addr=0x1e
-device pci-bridge,id=pci.2,chassis_nr=2,bus=pci.0,addr=0x1f
! -device piix3-usb-uhci,id=uhci,bus=pci.0,addr=0x1.0x2
! -device VGA,id=vga,bus=pci.0,addr=0x2
! -device virtio-scsi-pci,id=scsihw0,bus=pci.0,addr=0x5
-blockdev {"detect-zeroes":"on","discard":"ignore","driver":"throttle","file":{"cache":{"direct":true,"no-flush":false},"detect-zeroes":"on","discard":"ignore","driver":"raw","file":{"aio":"threads","cache":{"direct":true,"no-flush":false},"detect-zeroes":"on","discard":"ignore","driver":"file","filename":"@DIR@/a.raw","node-name":"e1677eafc00b7016099210662868e38","read-only":false},"node-name":"f1677eafc00b7016099210662868e38","read-only":false},"node-name":"drive-virtio0","read-only":false,"throttle-group":"throttle-drive-virtio0"}
-device virtio-blk-pci,drive=drive-virtio0,id=virtio0,bus=pci.0,addr=0xa,iothread=iothread-virtio0,write-cache=on
-blockdev {"detect-zeroes":"on","discard":"ignore","driver":"throttle","file":{"cache":{"direct":false,"no-flush":true},"detect-zeroes":"on","discard":"ignore","driver":"raw","file":{"aio":"io_uring","cache":{"direct":false,"no-flush":true},"detect-zeroes":"on","discard":"ignore","driver":"file","filename":"@DIR@/b.raw","node-name":"e677eafc00b70160992106628681e38","read-only":false},"node-name":"f677eafc00b70160992106628681e38","read-only":false},"node-name":"drive-virtio1","read-only":false,"throttle-group":"throttle-drive-virtio1"}
-device virtio-blk-pci,drive=drive-virtio1,id=virtio1,bus=pci.0,addr=0xb,iothread=iothread-virtio1,bootindex=302,serial=disk-b,write-cache=on,rerror=report,werror=stop
-machine hpet=off,type=pc-i440fx-9.2+pve1
