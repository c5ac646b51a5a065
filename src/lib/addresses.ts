import { isIPv4, isIPv6 } from 'node:net'

/**
 * Returns the client's address in canonical form. An IPv4-mapped IPv6 address (::ffff:192.0.2.1, RFC 4291
 * §2.5.5.2) becomes IPv4: a listener on `::` sees such addresses, but ranges are written in IPv4.
 * @param sent the address; a trusted proxy may add the port, as Azure's Application Gateway does and
 * load balancers of AWS can; a connection that the client has reset has none
 * @returns null if a trusted proxy sent something that is not an address, or the client has gone
 */
export function clientAddress(sent: string | undefined): string | null {
  if (sent === undefined) return null
  if (isIPv4(sent)) return sent
  const ip = withoutPort(sent)
  if (isIPv4(ip)) return ip
  if (!isIPv6(ip)) return null
  // The URL parser knows every form of an address (https://url.spec.whatwg.org/#concept-ipv6-serializer).
  const canonical = URL.parse(`http://[${ip.split('%')[0]}]/`)?.hostname.slice(1, -1) ?? ip
  const [, high, low] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical) ?? []
  if (high === undefined || low === undefined) return canonical
  const [a, b] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [a >> 8, a & 255, b >> 8, b & 255].join('.')
}

/** Removes the port. An IPv6 address has brackets if a port follows (RFC 3986 §3.2.2). */
const withoutPort = (sent: string) => sent.replace(/^\[(.*)\](:\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')

/** True if a host is this machine itself. @param host a name or an address, in canonical form */
export const isLoopbackName = (host: string): boolean =>
  /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host)

/**
 * Returns the network of a client, by which attempts are counted and clients recognized: an IPv4 address, or
 * 64 bits of an IPv6 address, which is one subnet (RFC 4291 §2.5.4).
 * @param address in canonical form; null if a trusted proxy sent something else
 */
export const networkPrefix = (address: string | null): string => prefixOf(address, 4)

/**
 * Returns the site of a client, by which turns are shared: an IPv4 address, or 48 bits of an IPv6 address.
 * One customer often gets 48 bits, and so has up to 65,536 networks (RFC 6177 §2), each of which would
 * otherwise have its own turn.
 */
export const siteOf = (address: string | null): string => prefixOf(address, 3)

/**
 * Returns the area of a client as its eperson sees it, precise enough to tell home from abroad: 24 bits of an
 * IPv4 address, or 48 bits of an IPv6 address.
 * @param address in canonical form; null: unknown
 */
export const areaOf = (address: string | null): string | null => {
  if (address === null) return null
  return isIPv6(address) ? siteOf(address) : `${address.split('.').slice(0, 3).join('.')}.0/24`
}

/** @param groups number of 16-bit groups to keep of an IPv6 address */
function prefixOf(address: string | null, groups: number): string {
  if (address === null) return 'unknown'
  // In canonical form, only IPv6 addresses have colons.
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groupsIn = (text: string) => (text === '' ? [] : text.split(':'))
  const [before, after] = [groupsIn(head), groupsIn(tail ?? '')]
  const middle = tail === undefined ? [] : Array<string>(8 - before.length - after.length).fill('0')
  return `${[...before, ...middle, ...after].slice(0, groups).join(':')}::/${16 * groups}`
}
