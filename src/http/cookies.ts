import type { FastifyReply, FastifyRequest } from 'fastify'

/** @returns every value that came under this name (RFC 6265 §5.4): a client may send several */
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

/** One answer sets a cookie once; the framework would add to what is there. */
export function setCookie(reply: FastifyReply, name: string, rest: string): void {
  const given = reply.getHeader('set-cookie')
  reply.removeHeader('set-cookie')
  const others = [given ?? []].flat().filter(one => !String(one).startsWith(`${name}=`))
  reply.header('set-cookie', others.length === 0 ? `${name}=${rest}` : [...others, `${name}=${rest}`])
}
