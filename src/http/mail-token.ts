import type { FastifyRequest } from 'fastify'
import { type Query, single } from './parameters.ts'

/** The token from a mail, as DSpace's clients send it (docs/decisions/0045); undefined if there is none. */
export const mailToken = (request: FastifyRequest): string | undefined =>
  single(request.query as Query, 'token')

export const hasMailToken = (request: FastifyRequest): boolean => mailToken(request) !== undefined
