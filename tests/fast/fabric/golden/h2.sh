#!/bin/sh
# h2 of fabric two. Ports:
#   p0 to p0-t0-1:h2
#   p1 to p1-t0-1:h2
#   oob to oob:h2
set -e
sysctl -q -w net/ipv6/conf/all/keep_addr_on_down=1
sysctl -q -w net/ipv4/ip_local_reserved_ports=32768-49151
sysctl -q -w net/ipv6/conf/all/seg6_enabled=1
sysctl -q -w net/ipv6/conf/p0/seg6_enabled=1
sysctl -q -w net/ipv6/conf/p0/accept_ra=0
sysctl -q -w net/ipv6/conf/p1/seg6_enabled=1
sysctl -q -w net/ipv6/conf/p1/accept_ra=0
sysctl -q -w net/ipv6/conf/oob/seg6_enabled=1
sysctl -q -w net/ipv6/conf/oob/accept_ra=0
ip link set p0 down address 02:00:00:00:02:00
ip link set p1 down address 02:00:00:00:02:01
ip link set oob down address 02:00:00:00:02:ff
tc qdisc del dev p0 root 2>/dev/null || true
tc qdisc del dev p1 root 2>/dev/null || true
ip -6 -batch - <<'EOF'
link set lo up
link set p0 addrgenmode none multicast off mtu 9216 up
address replace fe80::2/64 dev p0 nodad
address replace fd00:1:1::1/128 dev p0 nodad
address replace fcbb:bb00:c02::/128 dev p0 nodad preferred_lft 0
neighbour replace fe80::1 lladdr 02:10:00:01:00:00 nud permanent dev p0
link set p1 addrgenmode none multicast off mtu 9216 up
address replace fe80::2/64 dev p1 nodad
address replace fd00:2:1::1/128 dev p1 nodad
address replace fcbb:bb00:1c02::/128 dev p1 nodad preferred_lft 0
neighbour replace fe80::1 lladdr 02:11:00:01:00:00 nud permanent dev p1
link set oob addrgenmode none multicast off mtu 9216 up
address replace fe80::2/64 dev oob nodad
address replace fd00::3/128 dev oob nodad
neighbour replace fe80::1 lladdr 02:30:00:00:00:02 nud permanent dev oob
route replace fd00:1::/32 src fd00:1:1::1 via fe80::1 dev p0
route replace fcbb:bb00::/36 src fd00:1:1::1 via fe80::1 dev p0
route replace fcbb:bb00:c02:ffff::/64 encap seg6local action End.DT6 table 255 dev p0
route replace fcbb:bb00:c00::/128 encap seg6 mode encap.red segs fcbb:bb00:401:800:400:c00:ffff:0 dev p0 table 10000
route replace fcbb:bb00:c01::/128 encap seg6 mode encap.red segs fcbb:bb00:401:800:400:c01:ffff:0 dev p0 table 10000
route replace fcbb:bb00:c00::/128 encap seg6 mode encap.red segs fcbb:bb00:401:801:400:c00:ffff:0 dev p0 table 10001
route replace fcbb:bb00:c01::/128 encap seg6 mode encap.red segs fcbb:bb00:401:801:400:c01:ffff:0 dev p0 table 10001
route replace fd00:2::/32 src fd00:2:1::1 via fe80::1 dev p1
route replace fcbb:bb00:1000::/36 src fd00:2:1::1 via fe80::1 dev p1
route replace fcbb:bb00:1c02:ffff::/64 encap seg6local action End.DT6 table 255 dev p1
route replace fcbb:bb00:1c00::/128 encap seg6 mode encap.red segs fcbb:bb00:1401:1800:1400:1c00:ffff:0 dev p1 table 10000
route replace fcbb:bb00:1c01::/128 encap seg6 mode encap.red segs fcbb:bb00:1401:1800:1400:1c01:ffff:0 dev p1 table 10000
route replace fcbb:bb00:1c00::/128 encap seg6 mode encap.red segs fcbb:bb00:1401:1801:1400:1c00:ffff:0 dev p1 table 10001
route replace fcbb:bb00:1c01::/128 encap seg6 mode encap.red segs fcbb:bb00:1401:1801:1400:1c01:ffff:0 dev p1 table 10001
route replace fd00::/64 src fd00::3 via fe80::1 dev oob
rule flush table 10000
rule add pref 10000 iif lo ipproto udp sport 32768-40959 table 10000
rule flush table 10001
rule add pref 10001 iif lo ipproto udp sport 40960-49151 table 10001
EOF
tc -batch - <<'EOF'
qdisc replace dev p0 root handle 1: htb default 1
class replace dev p0 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 131072b cburst 131072b quantum 60000
qdisc replace dev p0 parent 1:1 handle 10: bfifo limit 625000
qdisc replace dev p1 root handle 1: htb default 1
class replace dev p1 parent 1: classid 1:1 htb rate 1000000000bit ceil 1000000000bit burst 131072b cburst 131072b quantum 60000
qdisc replace dev p1 parent 1:1 handle 10: bfifo limit 625000
EOF
if command -v nft >/dev/null; then nft -f - <<'EOF'
table ip6 mrc_marks
delete table ip6 mrc_marks
table ip6 mrc_marks {
  chain outer { type filter hook prerouting priority raw; ip6 nexthdr ipv6 ip6 ecn ce meta mark set 0x6d72; }
  chain inner { type filter hook input priority mangle; meta mark 0x6d72 ip6 ecn set ce; }
}
EOF
fi
