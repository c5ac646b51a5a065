import type { FastifyReply } from 'fastify'
import type { FederationConfig, SamlConfig } from '../config/providers.ts'
import { escapeHtml, ownFormPolicy, sendPage } from '../http/html-page.ts'
import { badParameter } from '../http/parameters.ts'
import type { Client } from '../lib/fair-queue.ts'
import type { SignOnAddresses } from './addresses.ts'
import type { Found } from './metadata/search.ts'
import { Refused } from './protocol.ts'
import type { SamlProvider } from './providers.ts'

/** The choice of an identity provider by a user of a federation. */
export interface Choice {
  readonly provider: SamlProvider
  readonly federation: FederationConfig
  readonly redirectUrl: string
  readonly client: Client
  /** The parameters of the start, as they came. */
  readonly given: Partial<Record<'returned' | 'force' | 'search' | 'page', string>>
}

const longestSearch = 200

/**
 * Sends the browser to the discovery service, or shows the page for choosing an identity provider.
 * @param sender Carrel's entity id
 * @param realm the name of the service
 * @throws Refused, Unavailable
 */
export async function choose(
  reply: FastifyReply,
  { provider, federation, redirectUrl, client, given }: Choice,
  addresses: SignOnAddresses,
  { sender, realm }: { readonly sender: string; readonly realm: string },
): Promise<FastifyReply> {
  const { config } = provider
  const again = `${startOf(config, redirectUrl, addresses)}${given.force === undefined ? '' : '&force=1'}`
  const { discoveryUrl } = federation
  if (discoveryUrl !== undefined && given.returned === undefined)
    return reply.redirect(discoveryAddress(discoveryUrl, sender, `${again}&returned=1`), 303)
  if (config.metadata.from === 'query')
    throw new Refused('the discovery service returned without an identity provider')

  const { search = '' } = given
  if (search.length > longestSearch)
    throw badParameter('search', search, `The parameter search has at most ${longestSearch} characters.`)
  const found = await provider.metadata.search(search, pageIn(given.page), client)
  const fields = {
    redirectUrl,
    provider: config.id,
    returned: '1',
    ...(given.force !== undefined && { force: '1' }),
  }
  return sendPage(
    reply,
    `Log in to ${realm}`,
    searchForm(fields, search) + results(found, search, `${again}&returned=1`),
    ownFormPolicy,
  )
}

const startOf = ({ scheme, id }: SamlConfig, redirectUrl: string, { start }: SignOnAddresses): string =>
  `${start(scheme, redirectUrl)}&provider=${id}`

/** The request to a discovery service (Identity Provider Discovery Service Protocol and Profile §2.4.1). */
function discoveryAddress(service: string, entityID: string, back: string): string {
  const url = new URL(service)
  for (const [name, value] of Object.entries({ entityID, return: back, returnIDParam: 'entityID' }))
    url.searchParams.set(name, value)
  return url.href
}

function pageIn(given: string | undefined): number {
  if (given === undefined) return 1
  if (/^[1-9]\d{0,4}$/.test(given)) return Number(given)
  throw badParameter('page', given, 'The parameter page is a number from 1.')
}

/** The form of a search, which is sent to the page's own address. */
const searchForm = (fields: Readonly<Record<string, string>>, search: string): string =>
  `<form method="get" role="search"><label for="search">Search for your institution, by its name, its domain or your e-mail address</label>${Object.entries(
    fields,
  )
    .map(([name, value]) => `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`)
    .join(
      '',
    )}<p class="search"><input id="search" type="search" name="search" maxlength="${longestSearch}" autocomplete="organization" value="${escapeHtml(search)}"><button>Search</button></p></form>`

function results({ total, page, pages, idps }: Found, search: string, again: string): string {
  const count = `${total === 0 ? 'No' : total} institution${total === 1 ? '' : 's'}${pages > 1 ? `, page ${page} of ${pages}` : ''}`
  const choices = idps.map(
    ({ entityId, name }) =>
      `<li><a class="choice" href="${escapeHtml(`${again}&entityID=${encodeURIComponent(entityId)}`)}">${escapeHtml(name)}</a></li>`,
  )
  const link = (to: number, rel: string, text: string) =>
    `<a rel="${rel}" href="${escapeHtml(`${again}&search=${encodeURIComponent(search)}&page=${to}`)}">${text}</a>`
  const others = [
    ...(page > 1 ? [link(page - 1, 'prev', 'Previous page')] : []),
    ...(page < pages ? [link(page + 1, 'next', 'Next page')] : []),
  ]
  return `<p role="status">${count}</p><ul>${choices.join('')}</ul>${
    others.length === 0 ? '' : `<nav aria-label="Pages">${others.join(' · ')}</nav>`
  }`
}
