import assert from 'node:assert/strict'
import type { Service } from '../service/service.ts'
import { inTime, shortLife } from '../service/waiting.ts'
import { type Answer, CrossOriginBrowser } from './cross-origin.ts'

/**
 * Sends the requests of DSpace's user interface (dspace-angular 7.6 to 10), in its order and with its
 * headers. Its sources are auth.interceptor.ts, xsrf.interceptor.ts, log.interceptor.ts,
 * locale.interceptor.ts, dspace-rest.service.ts, hal-endpoint.service.ts, auth.service.ts,
 * browser-xsrf.service.ts, menu.resolver.ts, authorization-data.service.ts and the pages.
 */
export class DspaceInterface {
  readonly #browser: CrossOriginBrowser
  /** `rest.baseUrl` of its configuration. */
  readonly #rest: string
  /** Cookies of its own origin, which outlive a page. */
  readonly #own = new Map<'dsAuthInfo' | 'XSRF-TOKEN' | 'dsImpersonatingEPerson', string>()
  /** State that lasts until the page is reloaded. */
  #page: Page = emptyPage()
  /** All requests, each as method and address. */
  readonly requests: string[] = []

  constructor(service: Service, origin: string) {
    this.#rest = service.config.baseUrl
    this.#browser = new CrossOriginBrowser(origin, url => service.address + url.pathname + url.search)
  }

  get user(): Body | undefined {
    return this.#page.user
  }
  get token(): string | undefined {
    return this.#own.get('dsAuthInfo')
  }
  /** The login methods that the login page offers. */
  get loginMethods(): readonly string[] {
    return this.#page.loginMethods
  }
  /** The features that the menus depend on and that are granted at the site. */
  get menu(): readonly string[] {
    return this.#page.menu
  }

  /** Loads the page, with the cookies that the browser has. */
  async boot(): Promise<void> {
    this.#page = emptyPage()
    const csrf = await this.#ask('GET', `${this.#rest}/api/security/csrf`)
    assert.equal(csrf.status, 204)
    assert.ok(this.#own.get('XSRF-TOKEN'), 'a CSRF pair')
    assert.equal((await this.#get(`${this.#rest}/api`)).type, 'root')
    for (const name of ['google.analytics.key', 'matomo.enabled', 'registration.verification.enabled'])
      await this.#property(name)
    await this.#checkAuthentication()
    const sites = await this.#list('sites')
    this.#page.site = sites[0] ?? assert.fail('there is a site')
    assert.deepEqual(await this.#list('browses', '?size=9999'), [])
    assert.deepEqual(await this.#list('systemwidealerts', '/search/active'), [])
    for (const feature of menuFeatures) if (await this.isAuthorized(feature)) this.#page.menu.push(feature)
    if (this.#page.menu.includes('administratorOf'))
      assert.equal((await this.#ask('GET', `${await this.#endpoint('scripts')}/metadata-export`)).status, 404)
  }

  /** Reloads the page: its state is lost, cookies stay. */
  reload(): Promise<void> {
    return this.boot()
  }

  async showHome(): Promise<void> {
    const objects = await this.#endpoint('discover/search/objects')
    const found = await this.#get(
      `${objects}?sort=dc.date.accessioned,DESC&page=0&size=5&dsoType=ITEM&embed=thumbnail&embed=accessStatus`,
    )
    assert.deepEqual(listIn(found._embedded?.searchResult as Body), [])
    const top = '/search/top?page=0&size=5&sort=dc.title,ASC&embed=logo'
    assert.deepEqual(await this.#list('communities', top), [])
    await this.isAuthorized('canSendFeedback')
    const view = { targetId: this.#page.site?.uuid, targetType: 'site', referrer: '' }
    const events = await this.#endpoint('statistics/viewevents')
    assert.equal((await this.#api('POST', events, JSON.stringify(view))).status, 201)
  }

  /** @returns the answer of the service, as the login page sees it */
  async logIn(user: string, password: string): Promise<Answer> {
    const body = `password=${encodeURIComponent(password)}&user=${encodeURIComponent(user)}`
    const login = `${await this.#endpoint('authn')}/login`
    const answer = await this.#api('POST', login, body, {
      'content-type': 'application/x-www-form-urlencoded',
    })
    if (answer.status !== 200) {
      this.#page.loginMethods = methodsIn(answer)
      return answer
    }
    this.#own.set('dsAuthInfo', tokenIn(answer))
    await this.#authenticated()
    return answer
  }

  /** Refreshes the token, as a timer does shortly before the token expires. */
  async refresh(): Promise<void> {
    const answer = await this.#api('POST', `${await this.#endpoint('authn')}/login`, '{}', {
      accept: 'application/json',
      authorization: `Bearer ${this.token}`,
    })
    assert.equal(answer.status, 200, answer.text)
    this.#own.set('dsAuthInfo', tokenIn(answer))
  }

  async logOut(): Promise<void> {
    this.#own.delete('dsImpersonatingEPerson')
    // The interface sends the options of the request as its body.
    const options = { headers: { normalizedNames: {}, lazyUpdate: [], headers: {} }, responseType: 'text' }
    const logout = `${await this.#endpoint('authn')}/logout`
    const answer = await this.#api('POST', logout, JSON.stringify(options))
    assert.equal(answer.status, 204, answer.text)
    this.#own.delete('dsAuthInfo')
    await this.reload()
  }

  /** Opens the profile page. */
  async profile(): Promise<Profile> {
    const id = this.user?.uuid ?? assert.fail('someone is logged in')
    const epersons = await this.#endpoint('epersons')
    const user = await this.#get(`${epersons}/${id}?embed=groups`)
    const groups = await this.#get(`${hrefOf(user, 'groups')}?page=0&size=20`)
    const status = await this.#get(`${await this.#endpoint('authn')}/status?embed=specialGroups`)
    await this.#property('researcher-profile.entity-type')
    assert.equal((await this.#ask('GET', `${await this.#endpoint('profiles')}/${id}?embed=item`)).status, 404)
    const value = (key: string) => user.metadata?.[key]?.[0]?.value
    return {
      name: `${value('eperson.firstname')} ${value('eperson.lastname')}`,
      mustAgree: value('dspace.agreements.end-user') !== 'true',
      groups: listIn(groups).map(({ name }) => name),
      specialGroups: listIn(status._embedded?.specialGroups as Body).map(({ name }) => name),
      canChangePassword: await this.isAuthorized('canChangePassword', hrefOf(user, 'self')),
    }
  }

  /**
   * Changes the password with the form of the profile page. @returns the answer; the page shows the `message`
   * of a refusal
   */
  async changePassword(currentPassword: string, newPassword: string): Promise<Answer> {
    const value = { new_password: newPassword, current_password: currentPassword }
    const operations = [{ op: 'add', path: '/password', value }]
    const id = this.user?.uuid ?? assert.fail('someone is logged in')
    return this.#api('PATCH', `${await this.#endpoint('epersons')}/${id}`, JSON.stringify(operations))
  }

  /** Opens the download page of a file. @returns the file, or the page to which it redirects */
  async download(bitstream: string): Promise<Response | 'login' | 'forbidden'> {
    const embed = '?embed=bundle/primaryBitstream&embed=bundle/item&embed=format'
    const answer = await this.#api('GET', `${await this.#endpoint('bitstreams')}/${bitstream}${embed}`)
    if (answer.status === 401) return 'login'
    if (answer.status === 403) return 'forbidden'
    const file = bodyOf(answer)
    const bundle = await this.#get(hrefOf(file, 'bundle'))
    assert.equal((await this.#get(hrefOf(bundle, 'item'))).type, 'item')
    assert.equal((await this.#api('GET', hrefOf(bundle, 'primaryBitstream'))).status, 204)
    assert.equal((await this.#get(hrefOf(file, 'format'))).type, 'bitstreamformat')
    const mayDownload = await this.isAuthorized('canDownload', hrefOf(file, 'self'))
    if (!mayDownload) return this.user ? 'forbidden' : 'login'
    const content = hrefOf(file, 'content')
    if (!this.user) return this.#browser.visit(content)
    return inTime(shortLife, async () => {
      const made = await this.#api('POST', `${await this.#endpoint('authn')}/shortlivedtokens`)
      assert.equal(made.status, 200, made.text)
      const { token } = JSON.parse(made.text) as { token: string }
      const answer = await this.#browser.visit(`${content}?authentication-token=${token}`)
      assert.notEqual(answer.status, 401)
      return answer
    })
  }

  /**
   * Opens the page of people (epeople-registry.component.ts). @returns the people listed, with the actions
   * that are offered
   */
  async people(query = ''): Promise<readonly Shown[]> {
    assert.ok(await this.isAuthorized('administratorOf'), 'the page opens')
    const found = await this.#list('epersons', `/search/byMetadata?query=${query}&page=0&size=5`)
    return Promise.all(found.map(one => this.#shown(one, one.email)))
  }

  /**
   * Opens the page of groups (groups-registry.component.ts), which shows a spinner until all these requests
   * are answered.
   */
  async groups(query = ''): Promise<readonly ShownGroup[]> {
    assert.ok(await this.isAuthorized('canManageGroups'), 'the page opens')
    const path = `/search/byMetadata?query=${query}&page=0&size=5&embed=object`
    const found = await this.#list('groups', path)
    return Promise.all(
      found.map(async one => {
        assert.equal((await this.#api('GET', hrefOf(one, 'object'))).status, 204)
        const subgroups = await this.#get(`${hrefOf(one, 'subgroups')}?page=0&size=1`)
        const members = await this.#get(`${hrefOf(one, 'epersons')}?page=0&size=1`)
        const count = (members.page?.totalElements ?? 0) + (subgroups.page?.totalElements ?? 0)
        return { ...(await this.#shown(one, one.name)), members: count }
      }),
    )
  }

  /** Opens the page of a group (members-list.component.ts and subgroups-list.component.ts). */
  async group(name: string): Promise<{ members: readonly string[]; others: readonly string[] }> {
    const [found] = await this.#list('groups', `/search/byMetadata?query=${name}&page=0&size=5`)
    const group = await this.#get(hrefOf(found, 'self'))
    const notIn = `/search/isNotMemberOf?query=&group=${group.id}&page=0&size=5`
    const emails = (list: readonly Body[]) => list.map(({ email = '' }) => email)
    assert.deepEqual(listIn(await this.#get(`${hrefOf(group, 'subgroups')}?page=0&size=5`)), [])
    await this.#list('groups', notIn)
    return {
      members: emails(listIn(await this.#get(`${hrefOf(group, 'epersons')}?page=0&size=5`))),
      others: emails(await this.#list('epersons', notIn)),
    }
  }

  async #shown(one: Body, name = ''): Promise<Shown> {
    return { name, isDeletable: await this.isAuthorized('canDelete', hrefOf(one, 'self')) }
  }

  /** Finds an eperson and acts on behalf of them, if the page offers it (eperson-form.component.ts). */
  async impersonate(email: string): Promise<'no button' | undefined> {
    const [found] = await this.#list('epersons', `/search/byMetadata?query=${email}&page=0&size=5`)
    assert.equal(found?.email, email)
    const eperson = await this.#get(hrefOf(found, 'self'))
    listIn(await this.#get(`${hrefOf(eperson, 'groups')}?page=0&size=5&embed=object`))
    if (!(await this.isAuthorized('loginOnBehalfOf', hrefOf(eperson, 'self')))) return 'no button'
    this.#own.set('dsImpersonatingEPerson', eperson.uuid)
    await this.reload()
    return undefined
  }

  /** Opens the page of an item (item-page). */
  async showItem(uuid: string): Promise<Body> {
    const item = await this.#get(`${await this.#endpoint('items')}/${uuid}?embed=thumbnail&embed=bundles`)
    for (const name of ['edititems/search/findModesById', 'correctiontypes/search/findByItem'])
      assert.deepEqual(await this.#search(name, `uuid=${uuid}`), [])
    assert.deepEqual(await this.#search('qualityassurancesources/search/byTarget', `target=${uuid}`), [])
    const status = await this.#get(`${await this.#endpoint('notifyrequests')}/${uuid}`)
    assert.equal(status.type, 'notifyrequests')
    const fields = `${await this.#endpoint('browses')}/search/byFields?fields=dc.contributor.author,dc.creator`
    assert.equal((await this.#api('GET', fields)).status, 204)
    const links = await this.#api('GET', `${this.#rest}/signposting/links/${uuid}`)
    assert.deepEqual([links.status, JSON.parse(links.text)], [200, []])
    return item
  }

  /** Opens the search page with its sidebar (search-configuration.service.ts and search.service.ts). */
  async showSearch(): Promise<void> {
    const { _embedded } = await this.#get(await this.#endpoint('discover/facets'))
    assert.deepEqual(_embedded?.facets, [])
    const objects = await this.#get(`${await this.#endpoint('discover/search/objects')}?page=0&size=10`)
    assert.deepEqual(listIn(objects._embedded?.searchResult as Body), [])
  }

  /** Opens the pages of process-overview.service.ts and subscriptions-page.component.ts. */
  async showProcessesAndSubscriptions(): Promise<void> {
    // The menu shows the page of processes only to administrators.
    const states = this.menu.includes('administratorOf')
      ? ['SCHEDULED', 'RUNNING', 'COMPLETED', 'FAILED']
      : []
    for (const status of states)
      assert.deepEqual(
        await this.#search('processes/search/byProperty', `processStatus=${status}&page=0`),
        [],
      )
    const mine = `uuid=${this.user?.uuid}&page=0&size=10&embed=resource&embed=eperson`
    assert.deepEqual(await this.#search('subscriptions/search/findByEPerson', mine), [])
  }

  /**
   * Opens the page of a handle (dso-redirect.service.ts). @returns the UUID of the object to which it
   * redirects, or undefined for "not found"
   */
  async showHandle(handle: string): Promise<string | undefined> {
    const template = await this.#endpoint('pid')
    const answer = await this.#api('GET', template.replace('{?id}', `?id=hdl:${handle}`))
    return answer.status === 200 ? bodyOf(answer).uuid : undefined
  }

  /** Returns the elements of a search. @param path the name of a link of the root, and the path after it */
  async #search(path: string, query: string): Promise<readonly Body[]> {
    const [name = '', ...more] = path.split('/')
    return this.#list(name, `/${more.join('/')}?${query}`)
  }

  async stopImpersonating(): Promise<void> {
    this.#own.delete('dsImpersonatingEPerson')
    await this.reload()
  }

  /** @param about the site by default */
  async isAuthorized(feature: string, about = hrefOf(this.#page.site, 'self')): Promise<boolean> {
    // Neither encoded nor with `eperson`, because authorization-data.service.ts asks about the user of the
    // session.
    const held = await this.#list(
      'authorizations',
      `/search/object?uri=${about}&feature=${feature}&embed=feature`,
    )
    for (const one of held) assert.equal((one._embedded?.feature as Body | undefined)?.id, feature)
    return held.length > 0
  }

  async #checkAuthentication(): Promise<void> {
    if (this.token !== undefined) return this.#authenticated()
    const answer = await this.#status({})
    assert.equal(bodyOf(answer).authenticated, false)
    this.#page.loginMethods = methodsIn(answer)
  }

  /** Loads the eperson of the token. A token that is no longer accepted is discarded. */
  async #authenticated(): Promise<void> {
    const answer = await this.#status({ authorization: `Bearer ${this.token}` })
    const status = bodyOf(answer)
    if (status.authenticated !== true) {
      this.#own.delete('dsAuthInfo')
      this.#page.loginMethods = methodsIn(answer)
      return
    }
    this.#page.token = this.token
    const acting = this.#own.get('dsImpersonatingEPerson')
    this.#page.user =
      acting === undefined
        ? await this.#get(hrefOf(status, 'eperson'))
        : await this.#get(`${await this.#endpoint('epersons')}/${acting}`)
  }

  async #status(headers: Readonly<Record<string, string>>): Promise<Answer> {
    const url = `${await this.#endpoint('authn')}/status`
    return this.#api('GET', url, undefined, { accept: 'application/json', ...headers })
  }

  async #property(name: string): Promise<void> {
    const answer = await this.#api('GET', `${await this.#endpoint('properties')}/${name}`)
    assert.equal(answer.status, 404, name)
    assert.equal(typeof (JSON.parse(answer.text) as { message?: unknown }).message, 'string')
  }

  /** Follows links of these names from the root (hal-endpoint.service.ts). */
  async #endpoint(path: string): Promise<string> {
    let href = `${this.#rest}/api`
    for (const name of path.split('/')) {
      const known = this.#page.links.get(href) ?? (await this.#get(href))
      this.#page.links.set(href, known)
      href = hrefOf(known, name)
    }
    return href
  }

  /** Returns the elements of a list, which has a single key. */
  async #list(endpoint: string, more = ''): Promise<readonly Body[]> {
    return listIn(await this.#get((await this.#endpoint(endpoint)) + more))
  }

  async #get(url: string): Promise<Body> {
    const answer = await this.#api('GET', url)
    assert.equal(answer.status, 200, `${url}: ${answer.text}`)
    const body = bodyOf(answer)
    assert.ok(body._links.self?.href, `${url} has a link to itself`)
    assert.ok(body.type !== undefined || body.page !== undefined, `${url} has a type`)
    return body
  }

  /** Sends a request that names a content type even without a body (dspace-rest.service.ts). */
  #api(method: string, url: string, body?: string, headers: Readonly<Record<string, string>> = {}) {
    return this.#ask(method, url, body, { 'content-type': 'application/json; charset=utf-8', ...headers })
  }

  /** Sends a request through the interceptors. */
  async #ask(method: string, url: string, body?: string, given: Readonly<Record<string, string>> = {}) {
    this.requests.push(`${method} ${url}`)
    const headers = new Headers({ accept: 'application/json, text/plain, */*', ...given })
    headers.set('accept-language', 'en')
    headers.set('x-referrer', '/home')
    headers.set('x-correlation-id', 'f4b8a4a0-3a3c-4b7e-8f6e-5d0c9b9f9a11')
    const asks = /\/authn\/(login|status)$/.test(url)
    if (!asks && this.#page.token !== undefined) {
      headers.set('authorization', `Bearer ${this.#page.token}`)
      const acting = this.#own.get('dsImpersonatingEPerson')
      if (acting !== undefined) headers.set('x-on-behalf-of', acting)
    }
    const csrf = this.#own.get('XSRF-TOKEN')
    if (method !== 'GET' && url.toLowerCase().startsWith(this.#rest.toLowerCase()) && csrf !== undefined)
      headers.set('x-xsrf-token', csrf)
    const answer = await this.#browser.request(method, url, headers, body)
    const fresh = answer.header('dspace-xsrf-token')
    if (fresh !== null) this.#own.set('XSRF-TOKEN', fresh)
    return answer
  }
}

/** The members of a body that the interface reads. */
interface Body {
  readonly id?: string
  readonly uuid: string
  readonly name: string
  readonly email?: string
  readonly type?: string
  readonly authenticated?: boolean
  readonly metadata?: Readonly<Record<string, readonly { readonly value: string }[]>>
  readonly page?: { readonly totalElements: number }
  readonly _embedded?: Readonly<Record<string, unknown>>
  readonly _links: Readonly<Record<string, { readonly href: string }>>
}

interface Page {
  token: string | undefined
  user: Body | undefined
  site: Body | undefined
  loginMethods: readonly string[]
  readonly menu: string[]
  readonly links: Map<string, Body>
}

const emptyPage = (): Page => ({
  token: undefined,
  user: undefined,
  site: undefined,
  loginMethods: [],
  menu: [],
  links: new Map(),
})

/** A row of an administrators' page. */
interface Shown {
  readonly name: string
  readonly isDeletable: boolean
}

interface ShownGroup extends Shown {
  readonly members: number
}

interface Profile {
  readonly name: string
  readonly mustAgree: boolean
  readonly groups: readonly string[]
  readonly specialGroups: readonly string[]
  readonly canChangePassword: boolean
}

const menuFeatures = [
  'isCollectionAdmin',
  'isCommunityAdmin',
  'administratorOf',
  'canSubmit',
  'canEditItem',
  'canSeeQA',
  'coarNotifyEnabled',
  'canManageGroups',
  'epersonRegistration',
]

const bodyOf = ({ text }: Answer): Body => JSON.parse(text) as Body

function hrefOf(body: Body | undefined, name: string): string {
  const href = body?._links[name]?.href
  assert.ok(href, `a link ${name} in ${JSON.stringify(body)}`)
  return href
}

/**
 * Returns the elements of a list, which has a page and one embedded key
 * (dspace-rest-response-parsing.service.ts).
 */
function listIn(body: Body): readonly Body[] {
  assert.ok(body.page, 'a page')
  const lists = Object.values(body._embedded ?? {})
  assert.equal(lists.length, 1)
  return lists[0] as readonly Body[]
}

/** Returns the names of the login methods (parseAuthMethodsFromHeaders in auth.interceptor.ts). */
const methodsIn = (answer: Answer): readonly string[] =>
  (answer.header('www-authenticate')?.match(/(\w+ (\w+=((".*?")|[^,]*)(, )?)*)/g) ?? []).map(
    realm => realm.split(' ')[0] ?? '',
  )

/** Returns the token. The page reads its expiry (auth-token-info.model.ts), so it must be in the future. */
function tokenIn(answer: Answer): string {
  const token = (answer.header('authorization') ?? '').replace('Bearer ', '')
  const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { exp: number }
  assert.ok(claims.exp * 1000 > Date.now())
  return token
}
