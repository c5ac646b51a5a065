import type { FastifyRequest } from 'fastify'
import { clientOf } from '../http/client.ts'
import { jsonObject } from '../http/json-body.ts'
import { patchBody } from '../http/json-patch.ts'
import { mailToken } from '../http/mail-token.ts'
import { Problem } from '../http/problems.ts'
import { isObject } from '../lib/json.ts'
import { readUuid } from '../lib/uuids.ts'
import type { Eperson } from '../model/accounts.ts'
import type { ByMail } from './change-epersons.ts'
import { newPerson } from './eperson-input.ts'
import { mailEvent } from './registration-routes.ts'
import type { Registrations } from './registrations.ts'

export interface PasswordByMail {
  /** @returns undefined if the request has no such token */
  setPassword(request: FastifyRequest): Promise<Eperson> | undefined
}

/**
 * Lets the owner of an email address register or set a new password with the token from a mail
 * (docs/decisions/0045).
 */
export function createByMail(registrations: Registrations): ByMail & PasswordByMail {
  async function register(request: FastifyRequest, token: string): Promise<Eperson> {
    const { password, email, ...body } = jsonObject(request)
    const person = newPerson({ ...body, email: email ?? (await registrations.addressOf(token)) })
    return registrations.register(
      token,
      { ...person, password: passwordIn('password', password) },
      clientOf(request),
      mailEvent(request, 'eperson.add'),
    )
  }

  async function setPassword(request: FastifyRequest, token: string): Promise<Eperson> {
    const [operation, ...more] = patchBody(request)
    if (operation?.op !== 'add' || operation.path.join('/') !== 'password' || more.length > 0)
      throw new Problem('patch-refused', 'With a token of a mail, the patch is one operation: add /password.')
    const { value } = operation
    const password = passwordIn('new_password', isObject(value) ? value.new_password : value)
    const uuid = readUuid((request.params as { uuid: string }).uuid) ?? ''
    const event = mailEvent(request, 'eperson.password')
    return registrations.setPassword(token, uuid, password, clientOf(request), event)
  }

  const withToken =
    (work: (request: FastifyRequest, token: string) => Promise<Eperson>) => (request: FastifyRequest) => {
      const token = mailToken(request)
      return token === undefined ? undefined : work(request, token)
    }
  return { register: withToken(register), setPassword: withToken(setPassword) }
}

function passwordIn(name: string, value: unknown): Buffer {
  if (typeof value !== 'string' || !value.isWellFormed())
    throw new Problem('patch-refused', `The body must have ${name}, a string.`)
  return Buffer.from(value)
}
