import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import type { ProblemCode } from './problems.ts'

/**
 * What a route promises: its description in OpenAPI, and what the tests compare every answer with (docs/decisions/0046). What
 * holds of many routes, such as CSRF, is not in it: `openapi/rules.ts` adds that.
 */
export interface Contract {
  /** Of a family of routes that share a contract; otherwise the name of the contract is the operation's. */
  readonly operationId?: string
  readonly summary: string
  readonly description?: string
  readonly tag: Tag
  /** Who may: everybody, unless it says otherwise. An answer may still depend on the caller. */
  readonly caller?: 'eperson' | 'administrator'
  /** Parameters in the path; those that are left out are any text. */
  readonly path?: Readonly<Record<string, TSchema>>
  readonly query?: Readonly<Record<string, Parameter>>
  /** Headers of the request that only some routes heed. */
  readonly headers?: Readonly<Record<string, Parameter>>
  /** By media type. Without it, a body is refused or makes no difference. */
  readonly body?: Readonly<Record<string, TSchema>>
  /** Whether there may also be no body. */
  readonly bodyIsOptional?: true
  /** What it answers when it goes well, by status. */
  readonly answers: Readonly<Record<number, Answer>>
  /** What it refuses, besides what every such route does. */
  readonly problems?: readonly ProblemCode[]
}

/** A parameter that may be left out, unless `required`. */
export interface Parameter {
  readonly schema: TSchema
  readonly description?: string
  readonly required?: boolean
}

export interface Answer {
  readonly description: string
  /** Those that only some routes send. A header that may be missing is optional in the schema. */
  readonly headers?: Readonly<Record<string, TSchema>>
  /** By media type. Without it, the answer is empty. */
  readonly body?: Readonly<Record<string, TSchema>>
}

/** The sections of docs/reference/http.md. */
export const tags = {
  Start: 'Links, the CSRF pair, problems, health, and this document.',
  Authentication: 'Login and logout, who is asking, sessions and tokens.',
  'Single sign-on': 'Ways to an identity provider and back. They are there if it is configured.',
  'Epersons and groups': 'Users and their groups; registration and passwords.',
  'Items and files': 'Items, their bundles and their files, as DSpace’s clients know them.',
  Authorizations: 'Who may do what, and the policies of items and files.',
  Queries: 'Entities and their records: lists, single records, and what is written.',
  PuppetDB: 'Addresses that only clients of PuppetDB need.',
  'Administration of entities': 'Entities are made, described, dropped, and their records imported.',
  Uploads: 'Files that are sent in pieces (tus 1.0).',
  Processes: 'What takes long and is done in the background.',
  'Alerts, audit and health': 'The alert of DSpace’s interface, the audit trail, and health.',
  'Metadata registry': 'Which fields of metadata editors offer.',
  Operation: 'What operators do and look at besides the command line.',
  'For DSpace’s user interface': 'Empty answers for what Carrel doesn’t have.',
} as const
export type Tag = keyof typeof tags

/** Contracts of one file, by name; a function makes one for each of a family of routes. */
export type Contracts = Readonly<Record<string, Contract | ((...given: never[]) => Contract)>>

/** A contract is loaded when somebody asks for it: schemas take memory that no answer needs. */
export type ContractOf = () => Promise<Contract & { readonly operationId: string }>

type Arguments<C> = C extends (...given: infer A) => Contract ? A : []

/**
 * The contracts of a file.
 * @param load imports it
 * @returns what makes options of a route, as in `app.get('/items', route('listItems'), …)`
 */
export const contractsIn =
  <C extends Contracts>(load: () => Promise<{ readonly contracts: C }>) =>
  <Name extends keyof C & string>(name: Name, ...given: Arguments<C[Name]>) => ({
    config: {
      contract: async () => {
        const found: Contracts[string] | undefined = (await load()).contracts[name]
        if (found === undefined) throw new Error(`there is no contract ${name}`)
        const contract = typeof found === 'function' ? found(...(given as never[])) : found
        return { operationId: name, ...contract }
      },
    },
  })

declare module 'fastify' {
  interface FastifyContextConfig {
    contract?: ContractOf
    /** Of a pattern with `*`: what it may stand for, such as `:key`, the shortest first, each with its contract. */
    contracts?: Readonly<Record<string, ContractOf>>
    /** Whether the route is outside of the scope that knows who is asking. */
    ignoresCaller?: boolean
  }
}

export interface DescribedRoute {
  readonly method: string
  /** Such as `/api/core/items/:uuid`. */
  readonly url: string
  /** The same as the router knows it: the end of the address may be a `*`. */
  readonly pattern: string
  readonly contract: ContractOf | undefined
  readonly knowsCaller: boolean
  /** Whether the route reads a body, if only to refuse it. */
  readonly takesBody: boolean
  /** Whether errors are a page for those who come with a browser. */
  readonly isPage: boolean
  /** Whether identity providers send the request. */
  readonly isProviderMessage: boolean
  /** True if the route answers to `embed`. */
  readonly embeds: boolean
}

/** @returns the routes that are registered from now on; a list that grows */
export function describedRoutes(app: FastifyInstance): readonly DescribedRoute[] {
  const routes: DescribedRoute[] = []
  const withGet = new Set<string>()
  app.addHook('onRoute', route => {
    const { method, url, config, preParsing } = route
    const hooks = [preParsing ?? []].flat() as readonly { readonly name: string }[]
    const addresses = config?.contracts ?? { '*': config?.contract }
    const isOwnHead = method === 'HEAD' && !withGet.has(url)
    for (const one of [method].flat()) {
      if (one === 'GET') withGet.add(url)
      if (one !== 'HEAD' || isOwnHead)
        for (const [rest, contract] of Object.entries(addresses))
          routes.push({
            method: one,
            url: url.replace('*', () => rest).replace(/(?<=.)\/$/, ''),
            pattern: url,
            contract,
            knowsCaller: config?.ignoresCaller !== true,
            takesBody: changing.has(one) && !hooks.some(hook => hook.name === 'ignoreBody'),
            isPage: config?.isPage === true,
            isProviderMessage: config?.isProviderMessage === true,
            // Said by the scope of the route, which is asked after this.
            get embeds() {
              return route.config?.embeds === true
            },
          })
    }
  })
  return routes
}

const changing = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
