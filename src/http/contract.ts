import type { FastifyInstance } from 'fastify'
import type { TSchema } from 'typebox'
import type { ProblemCode } from './problems.ts'

/**
 * The promise of a route: its description in OpenAPI, and what the tests compare every answer with
 * (docs/decisions/0046). It leaves out what holds for many routes, such as CSRF: `openapi/rules.ts` adds
 * that.
 */
export interface Contract {
  /** Given by families of routes that share a contract; the default is the contract's name. */
  readonly operationId?: string
  readonly summary: string
  readonly description?: string
  readonly tag: Tag
  /** The caller that is required; by default, any caller may. An answer may still depend on the caller. */
  readonly caller?: 'eperson' | 'administrator'
  /** Parameters in the path; those left out may be any text. */
  readonly path?: Readonly<Record<string, TSchema>>
  readonly query?: Readonly<Record<string, Parameter>>
  /** Request headers that only some routes read. */
  readonly headers?: Readonly<Record<string, Parameter>>
  /** Schemas by media type. Without it, a body is refused or makes no difference. */
  readonly body?: Readonly<Record<string, TSchema>>
  /** True if the body may be missing. */
  readonly bodyIsOptional?: true
  /** Successful answers, by status. */
  readonly answers: Readonly<Record<number, Answer>>
  /** Problems besides those that every such route may answer with. */
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
  /** Headers that only some routes send. A header that may be missing is optional in the schema. */
  readonly headers?: Readonly<Record<string, TSchema>>
  /** Schemas by media type. Without it, the answer is empty. */
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

/** The contracts of one file, by name; a function makes a contract for each of a family of routes. */
export type Contracts = Readonly<Record<string, Contract | ((...given: never[]) => Contract)>>

/** Loads a contract. It is loaded only when needed: schemas take memory, and no answer uses them. */
export type ContractOf = () => Promise<Contract & { readonly operationId: string }>

type Arguments<C> = C extends (...given: infer A) => Contract ? A : []

/**
 * Gives routes their contracts from a file.
 * @param load imports the file
 * @returns a function that makes a route's options, as in `app.get('/items', route('listItems'), …)`
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
    /**
     * Possible endings of a pattern that ends in `*`, such as `:key`, shortest first, each with its contract.
     */
    contracts?: Readonly<Record<string, ContractOf>>
    /** True if the route is outside the scope that authenticates the caller. */
    ignoresCaller?: boolean
  }
}

export interface DescribedRoute {
  readonly method: string
  /** The URL with named parameters, such as `/api/core/items/:uuid`. */
  readonly url: string
  /** The URL as the router knows it, which may end in `*`. */
  readonly pattern: string
  readonly contract: ContractOf | undefined
  readonly knowsCaller: boolean
  /** True if the route reads a body, if only to refuse it. */
  readonly takesBody: boolean
  /** True if errors are shown as a page to browsers. */
  readonly isPage: boolean
  /** True if the request comes from an identity provider. */
  readonly isProviderMessage: boolean
  /** True if the route answers to `embed`. */
  readonly embeds: boolean
}

/** @returns a list that grows by each route registered from now on */
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
            // A getter, because the scope of the route sets it after this hook.
            get embeds() {
              return route.config?.embeds === true
            },
          })
    }
  })
  return routes
}

const changing = new Set(['POST', 'PUT', 'PATCH', 'DELETE'])
