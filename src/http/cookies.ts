import type { FastifyReply, FastifyRequest } from 'fastify'

/** @returns the values of all cookies with this name: a client may send several (RFC 6265 §5.4) */
export function cookiesOf(request: FastifyRequest, name: string): string[] {
  const start = `${name}=`
  return (request.headers.cookie ?? '')
    .split(';')
    .map(part => part.trim())
    .filter(part => part.startsWith(start))
    .map(part => part.slice(start.length))
}

export const cookieNames = (request: FastifyRequest): string[] =>
  (request.headers.cookie ?? '').split(';').map(part => part.split('=', 1)[0]?.trim() ?? '')

/** Sets a cookie and replaces one of this name that the response already sets; the framework would set both. */
export function setCookie(reply: FastifyReply, name: string, rest: string): void {
  const cookie = `${name}=${rest}`
  const given = reply.getHeader('set-cookie')
  if (given === undefined) {
    reply.header('set-cookie', cookie)
    return
  }
  reply.removeHeader('set-cookie')
  const others = [given].flat().filter(one => !String(one).startsWith(`${name}=`))
  reply.header('set-cookie', others.length === 0 ? cookie : [...others, cookie])
}
