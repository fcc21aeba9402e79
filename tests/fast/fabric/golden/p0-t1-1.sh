#!/bin/sh
# p0-t1-1 of fabric two. Ports:
#   t0-0 to p0-t0-0:t1-1
#   t0-1 to p0-t0-1:t1-1
set -e
sysctl -q -w net/ipv6/conf/all/keep_addr_on_down=1
sysctl -q -w net/ipv6/conf/all/forwarding=1
sysctl -q -w net/ipv6/icmp/ratelimit=0
sysctl -q -w net/ipv6/conf/all/seg6_enabled=1
sysctl -q -w net/ipv6/conf/t0-0/seg6_enabled=1
sysctl -q -w net/ipv6/conf/t0-0/accept_ra=0
sysctl -q -w net/ipv6/conf/t0-1/seg6_enabled=1
sysctl -q -w net/ipv6/conf/t0-1/accept_ra=0
ip link show usid >/dev/null 2>&1 || ip link add usid type veth peer name usid-end
ip link set t0-0 down address 02:20:00:01:00:00
ip link set t0-1 down address 02:20:00:01:00:01
tc qdisc del dev t0-0 root 2>/dev/null || true
tc qdisc del dev t0-1 root 2>/dev/null || true
ip -6 -batch - <<'EOF'
link set lo up
address replace fcbb:bb00:801::/128 dev lo nodad
link set usid-end addrgenmode none up
link set usid addrgenmode none up
link set t0-0 addrgenmode none multicast off mtu 9216 up
address replace fe80::1/64 dev t0-0 nodad
neighbour replace fe80::2 lladdr 02:10:00:00:00:03 nud permanent dev t0-0
link set t0-1 addrgenmode none multicast off mtu 9216 up
address replace fe80::1/64 dev t0-1 nodad
neighbour replace fe80::2 lladdr 02:10:00:01:00:03 nud permanent dev t0-1
route replace fcbb:bb00:801::/48 encap seg6local action End flavors next-csid lblen 32 nflen 16 dev usid
route replace fcbb:bb00:400::/48 via fe80::2 dev t0-0
route replace fcbb:bb00:401::/48 via fe80::2 dev t0-1
route replace fd00:1::/48 via fe80::2 dev t0-0
route replace fd00:1:1::/48 via fe80::2 dev t0-1
route replace blackhole fcbb:bb00::/32 metric 4096
route replace blackhole fd00:1::/32 metric 4096
EOF
tc -batch - <<'EOF'
qdisc replace dev t0-0 root handle 1: htb default 1
class replace dev t0-0 parent 1: classid 1:1 htb rate 2000000000bit ceil 2000000000bit burst 131072b cburst 131072b quantum 60000
qdisc replace dev t0-0 parent 1:1 handle 10: bfifo limit 1250000
qdisc replace dev t0-1 root handle 1: htb default 1
class replace dev t0-1 parent 1: classid 1:1 htb rate 2000000000bit ceil 2000000000bit burst 131072b cburst 131072b quantum 60000
qdisc replace dev t0-1 parent 1:1 handle 10: bfifo limit 1250000
EOF
