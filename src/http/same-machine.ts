import type { IncomingMessage } from 'node:http'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../config/providers.ts'
import { clientAddress, isLoopbackName } from '../lib/addresses.ts'

/** Headers that proxies add (RFC 7239, RFC 9110 §7.6.3, and common ones). */
const ofProxies =
  /^(forwarded|via|x-forwarded-|x-real-ip$|x-client-ip$|x-cluster-client-ip$|cf-connecting-ip$|true-client-ip$)/

type Settings = Pick<Config, 'baseUrl' | 'trustedProxies'>

/** True if the settings of a service don't speak of other machines. */
export const isLocal = ({ baseUrl, trustedProxies }: Settings): boolean =>
  trustedProxies.length === 0 && isLoopback(baseUrl)

/**
 * Makes the test for requests that come from a program on the machine of the service (D5, L11). To the service,
 * all clients of a proxy on the same machine have its address, and not every proxy reveals itself. So loopback
 * counts only if nothing indicates a proxy: no header, no setting, and no public base URL.
 */
export function createSameMachine(settings: Settings): (request: IncomingMessage) => boolean {
  const isForThisMachine = isLocal(settings)
  return ({ headers, socket }) =>
    isForThisMachine &&
    isLoopbackName(clientAddress(socket.remoteAddress ?? '') ?? '') &&
    // A page of another site whose name resolves to this machine would send that name (DNS rebinding).
    isLoopback(`http://${headers.host ?? ''}`) &&
    !Object.keys(headers).some(name => ofProxies.test(name))
}
