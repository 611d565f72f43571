-id 8006
-name simple
-no-shutdown
-chardev socket,id=qmp,path=@DIR@/8006.qmp,server=on,wait=off
-mon chardev=qmp,mode=control
-chardev socket,id=qmp-event,path=@DIR@/qmeventd.sock,reconnect-ms=5000
-mon chardev=qmp-event,mode=control
-pidfile @DIR@/8006.pid
-smbios type=1,uuid=7b10d7af-b932-4c66-b2c3-3996152ec465
-smp 3,sockets=1,cores=3,maxcpus=3
-nodefaults
-boot menu=on,strict=on,reboot-timeout=1000,splash=/usr/share/qemu-server/bootsplash.jpg
! -vnc unix:@DIR@/8006.vnc,password=on
-cpu kvm64,enforce,+kvm_pv_eoi,+kvm_pv_unhalt,+lahf_lm,+sep
-m 768
-object iothread,id=iothread-virtio0
-object {"id":"throttle-drive-virtio0","limits":{},"qom-type":"throttle-group"}
-global PIIX4_PM.disable_s3=1
-global PIIX4_PM.disable_s4=1
-device pci-bridge,id=pci.1,chassis_nr=1,bus=pci.0,addr=0x1e
-device pci-bridge,id=pci.2,chassis_nr=2,bus=pci.0,addr=0x1f
! -device vmgenid,guid=54d1c06c-8f5b-440f-b5b2-6eab1380e13d
! -device piix3-usb-uhci,id=uhci,bus=pci.0,addr=0x1.0x2
! -device usb-tablet,id=tablet,bus=uhci.0,port=1
! -device VGA,id=vga,bus=pci.0,addr=0x2
! -device virtio-balloon-pci,id=balloon0,bus=pci.0,addr=0x3,free-page-reporting=on
-iscsi initiator-name=iqn.1993-08.org.debian:01:aabbccddeeff
! -device ide-cd,bus=ide.1,unit=0,id=ide2,bootindex=200
-blockdev {"detect-zeroes":"unmap","discard":"unmap","driver":"throttle","file":{"cache":{"direct":true,"no-flush":false},"detect-zeroes":"unmap","discard":"unmap","driver":"raw","file":{"aio":"io_uring","cache":{"direct":true,"no-flush":false},"detect-zeroes":"unmap","discard":"unmap","driver":"file","filename":"@DIR@/a.raw","node-name":"edd19f6c1b3a6d5a6248c3376a91a16","read-only":false},"node-name":"fdd19f6c1b3a6d5a6248c3376a91a16","read-only":false},"node-name":"drive-virtio0","read-only":false,"throttle-group":"throttle-drive-virtio0"}
-device virtio-blk-pci,drive=drive-virtio0,id=virtio0,bus=pci.0,addr=0xa,iothread=iothread-virtio0,bootindex=100,write-cache=on
! -netdev type=tap,id=net0,ifname=tap8006i0,script=/usr/libexec/qemu-server/pve-bridge,downscript=/usr/libexec/qemu-server/pve-bridgedown,vhost=on
! -device virtio-net-pci,mac=A2:C0:43:77:08:A0,netdev=net0,bus=pci.0,addr=0x12,id=net0,rx_queue_size=1024,tx_queue_size=256,bootindex=300,host_mtu=1500
-machine hpet=off,type=pc+pve0
