import type { IncomingMessage } from 'node:http'
import type { Config } from '../config/config.ts'
import { isLoopback } from '../config/providers.ts'
import { countHeader } from '../http/refuse-malformed.ts'
import { clientAddress, isLoopbackName } from '../lib/addresses.ts'
import { sameText } from '../lib/hmac.ts'

export type AccessSettings = Pick<Config, 'baseUrl' | 'metricsSecret' | 'trustedProxies'>

/** What proxies add (RFC 7239, RFC 9110 §7.6.3, and what is common). */
const ofProxies =
  /^(forwarded|via|x-forwarded-|x-real-ip$|x-client-ip$|x-cluster-client-ip$|cf-connecting-ip$|true-client-ip$)/

/**
 * Who may read `GET /metrics` (D5): who has the secret, from anywhere; without one, a program on the same machine. To the
 * service, everybody looks like one who comes through a proxy on the same machine, and not every proxy says so. So
 * loopback counts only where nothing speaks of a proxy: no header, no setting, and no public base URL.
 */
export function mayScrape({
  baseUrl,
  metricsSecret,
  trustedProxies,
}: AccessSettings): (request: IncomingMessage) => boolean {
  const isForThisMachine = trustedProxies.length === 0 && isLoopback(baseUrl)
  return request => {
    const { authorization, host = '' } = request.headers
    // It decides, even if it is wrong.
    if (authorization !== undefined) {
      const given = /^bearer +(\S+)$/i.exec(authorization)?.[1]
      return (
        metricsSecret !== null &&
        given !== undefined &&
        countHeader(request, 'authorization') === 1 &&
        sameText(given, metricsSecret)
      )
    }
    return (
      isForThisMachine &&
      isLoopbackName(clientAddress(request.socket.remoteAddress ?? '') ?? '') &&
      // A page of another site whose name leads here would send that name (DNS rebinding).
      isLoopback(`http://${host}`) &&
      !Object.keys(request.headers).some(name => ofProxies.test(name))
    )
  }
}
