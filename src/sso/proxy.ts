import type { FastifyRequest } from 'fastify'
import { networkOf } from '../authn/special-groups.ts'
import type { ProxyConfig } from '../config/providers.ts'
import { isPlaceholder } from '../config/settings.ts'
import { countHeader } from '../http/refuse-malformed.ts'
import { clientAddress } from '../lib/addresses.ts'
import { sameText } from '../lib/hmac.ts'
import { Refused, type Vouched } from './protocol.ts'

/**
 * A reverse proxy that has authenticated a user (mod_shib, oauth2-proxy). Its headers count only on a
 * connection from one of its addresses and with the secret that it shares with Carrel; headers of these names
 * from anyone else are ignored.
 */
export interface TrustedProxy {
  /** @returns undefined if the proxy sent no user @throws Refused */
  vouchedBy(request: FastifyRequest): Vouched | undefined
  /** True if the request comes from the proxy. */
  isTrusted(request: FastifyRequest): boolean
  /** True if the request has headers that only the proxy should send. */
  hasAttributes(request: FastifyRequest): boolean
  /** True if the request has a placeholder such as `${NAME}` in place of the secret. */
  hasPlaceholder(request: FastifyRequest): boolean
}

export function createProxy(provider: ProxyConfig): TrustedProxy {
  const { secretHeader, secret, separator, attributes } = provider
  const isProxy = networkOf(provider.addresses)
  const conditions = [...provider.groups, ...provider.require].map(rule => rule.attribute)
  const names = [...Object.values(attributes), ...conditions].map(name => name.toLowerCase())

  function isTrusted(request: FastifyRequest): boolean {
    // The address is that of the connection itself: anyone can write X-Forwarded-For.
    const address = clientAddress(request.raw.socket.remoteAddress ?? '')
    const given = request.headers[secretHeader]
    return (
      address !== null &&
      isProxy(address) &&
      countHeader(request.raw, secretHeader) === 1 &&
      typeof given === 'string' &&
      sameText(given, secret)
    )
  }

  function valuesOf(request: FastifyRequest, name: string): readonly string[] {
    const given = request.headers[name]
    if (typeof given !== 'string') return []
    // Node reads bytes as Latin-1; these are UTF-8.
    return split(Buffer.from(given, 'latin1').toString(), separator)
  }

  return {
    vouchedBy: request => {
      if (!isTrusted(request)) return undefined
      // One of them may come from the client: nothing tells them apart.
      if (names.some(name => countHeader(request.raw, name) > 1))
        throw new Refused('an attribute header came twice: the proxy must remove what clients send')
      const [subject] = valuesOf(request, attributes.subject.toLowerCase())
      if (subject === undefined) return undefined
      return {
        provider,
        attributes: name => valuesOf(request, name.toLowerCase()),
        names: names.filter(name => valuesOf(request, name).length > 0),
        session: { name: subject, sid: null, detail: {} },
      }
    },
    isTrusted,
    hasPlaceholder: request => isPlaceholder(String(request.headers[secretHeader] ?? '')),
    hasAttributes: request => [secretHeader, ...names].some(name => request.headers[name] !== undefined),
  }
}

/** Splits values as mod_shib joins them: a backslash before a separator makes it part of the value. */
function split(text: string, separator: string): string[] {
  const values: string[] = []
  let value = ''
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '\\' && text[at + 1] === separator) value += text[++at]
    else if (text[at] !== separator) value += text[at]
    else {
      values.push(value)
      value = ''
    }
  }
  // Apache writes `(null)` for a missing value.
  return [...values, value].map(one => one.trim()).filter(one => one !== '' && one !== '(null)')
}
