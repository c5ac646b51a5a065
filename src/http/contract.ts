import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RouteGenericInterface,
  RouteHandlerMethod,
  RouteShorthandOptions,
} from 'fastify'
import type { TSchema } from 'typebox'
import type { Authenticated, Caller } from '../model/caller.ts'
import type { Access, ChangeAccess, ReadAccess } from './access.ts'
import type { ProblemCode } from './problems.ts'
import type { LoggedIn } from './require-caller.ts'

/**
 * The promise of a route: its description in OpenAPI, and what the tests compare every answer with
 * (docs/decisions/0046). It leaves out what holds for many routes, such as CSRF: `openapi/rules.ts` adds that.
 */
export interface Contract {
  /** Given by families of routes that share a contract; the default is the contract's name. */
  readonly operationId?: string
  readonly summary: string
  readonly description?: string
  /** The default is the `tag` that the file of the contract exports. */
  readonly tag?: Tag
  /** The setting without which the address is 404, such as `mail (CARREL_SMTP_URL)`. */
  readonly needs?: string
  /** Parameters in the path; those left out may be any text. */
  readonly path?: Readonly<Record<string, TSchema>>
  readonly query?: Readonly<Record<string, Parameter>>
  /** Request headers that only some routes read. */
  readonly headers?: Readonly<Record<string, Parameter>>
  /** Schemas by media type. Without it, a body is refused or makes no difference. */
  readonly body?: Readonly<Record<string, TSchema>>
  /** Successful answers, by status. */
  readonly answers: Readonly<Record<number, Answer>>
  /** Problems besides those that follow from the route's access, its parameters of pages, and what every route does. */
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
type Tag = keyof typeof tags

/** The contracts of one file, by name; a function makes a contract for each of a family of routes. */
export type Contracts = Readonly<Record<string, Contract | ((...given: never[]) => Contract)>>

/** Loads a contract. It is loaded only when needed: schemas take memory, and no answer uses them. */
type ContractOf = () => Promise<DescribedContract>
export type DescribedContract = Contract & { readonly operationId: string; readonly tag: Tag }

type Arguments<C> = C extends (...given: infer A) => Contract ? A : []

/**
 * Gives routes their access, and their contracts from a file.
 * @param load imports the file
 * @returns a function that makes a route's options, as in
 *   `routesOf(app).get('/items', route('listItems', reads('anybody', 'items')), …)`
 */
export const contractsIn =
  <C extends Contracts>(load: () => Promise<{ readonly contracts: C; readonly tag: Tag }>) =>
  <Name extends keyof C & string, A extends Access>(name: Name, access: A, ...given: Arguments<C[Name]>) => ({
    config: {
      access,
      contract: async () => {
        const { contracts, tag } = await load()
        const found: Contracts[string] | undefined = contracts[name]
        if (found === undefined) throw new Error(`there is no contract ${name}`)
        const contract = typeof found === 'function' ? found(...(given as never[])) : found
        return { operationId: name, tag, ...contract }
      },
    },
  })

/** The caller of a route, whom the guard has let pass. */
type CallerOf<A extends Access> = A['who'] extends 'eperson' | 'administrator' | { readonly login: true }
  ? A['onBehalf'] extends 'refused'
    ? Authenticated
    : LoggedIn
  : Caller

/** The parameters in the address of a route. */
type ParamsOf<U extends string> = U extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [K in Name]: string } & ParamsOf<Rest>
  : U extends `${string}:${infer Name}`
    ? { readonly [K in Name]: string }
    : unknown

type RouteOf<A extends Access, R extends RouteGenericInterface> = RouteShorthandOptions<
  FastifyInstance['server'],
  Parameters<FastifyInstance['routing']>[0],
  Parameters<FastifyInstance['routing']>[1],
  R
> & { readonly config: { readonly access: A } }

type Handler<R extends RouteGenericInterface> = RouteHandlerMethod<
  FastifyInstance['server'],
  Parameters<FastifyInstance['routing']>[0],
  Parameters<FastifyInstance['routing']>[1],
  R
>

/** Registers a route. Without a type argument, its request has the parameters of its address and its access’s caller. */
interface Register<A extends Access> {
  <const U extends string, B extends A>(
    url: U,
    options: RouteOf<B, { Params: ParamsOf<U> }>,
    handler: (
      request: FastifyRequest<{ Params: ParamsOf<U> }> & { readonly caller: CallerOf<B> },
      reply: FastifyReply,
    ) => unknown,
  ): unknown
  <R extends RouteGenericInterface>(url: string, options: RouteOf<A, R>, handler: Handler<R>): unknown
}

/** The ways to register a route. One that doesn't state its access doesn't compile. */
export interface Routes {
  readonly get: Register<ReadAccess>
  readonly head: Register<ReadAccess>
  readonly options: Register<ReadAccess>
  readonly post: Register<ChangeAccess>
  readonly put: Register<ChangeAccess>
  readonly patch: Register<ChangeAccess>
  readonly delete: Register<ChangeAccess>
  readonly route: (
    options: RouteOf<Access, RouteGenericInterface> & {
      readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
      readonly url: string
      readonly handler: Handler<RouteGenericInterface>
    },
  ) => unknown
}

/** All routes are registered through this. */
export const routesOf = (app: FastifyInstance): Routes => app

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The access that the route states. A request that no route takes has none. */
    access?: Access
    contract?: ContractOf
    /** Possible endings of a pattern that ends in `*`, such as `:key`, shortest first, each with its contract. */
    contracts?: Readonly<Record<string, ContractOf>>
  }
}

export interface DescribedRoute {
  readonly method: string
  /** The URL with named parameters, such as `/api/core/items/:uuid`. */
  readonly url: string
  /** The URL as the router knows it, which may end in `*`. */
  readonly pattern: string
  readonly contract: ContractOf | undefined
  readonly access: Access
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
    const { method, url, config } = route
    const access = config?.access
    if (!access) throw new Error(`${method} ${url} doesn’t state who may use it`)
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
            access,
            knowsCaller: access.tokens !== 'ignored',
            takesBody: access.does !== 'read' && access.body !== 'ignored',
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
