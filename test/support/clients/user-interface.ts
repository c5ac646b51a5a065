import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { atEnd } from '../service/at-end.ts'

/**
 * A page on an origin of its own that uses the service like DSpace's user interface (dspace-angular:
 * auth.interceptor.ts, xsrf.interceptor.ts, auth.effects.ts, auth.service.ts), in plain JavaScript.
 */
export interface UserInterface {
  readonly origin: string
}

/** @param service the public address of the service */
export async function startUserInterface(t: TestContext, service: string): Promise<UserInterface> {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(page(service))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

/** The content of the page. `methods` are the login methods that it offers. */
export type Shown =
  | {
      readonly state: 'logged in'
      readonly email: string
      readonly method: string
      readonly groups: string[]
    }
  | { readonly state: 'logged out'; readonly methods: string[]; readonly singleLogout: boolean }

/** Waits until the page has an answer of the service. @returns the state of the page */
export const heard = (page: Page): Promise<string | null> =>
  page.locator('body:not([data-state=asking])').getAttribute('data-state')

export async function shownOn(page: Page): Promise<Shown> {
  const state = await heard(page)
  const text = (selector: string) => page.locator(selector).innerText()
  if (state === 'logged in')
    return {
      state,
      email: await text('#email'),
      method: await text('#method'),
      groups: await page.locator('#groups li').allInnerTexts(),
    }
  if (state !== 'logged out') throw new Error(`the page says: ${await text('#problem')}`)
  return {
    state,
    methods: await page
      .locator('#methods > *')
      .evaluateAll(elements => elements.map(element => element.getAttribute('data-method') ?? '')),
    singleLogout: (await page.locator('#single-logout').count()) > 0,
  }
}

/** Returns the token that the page keeps. */
export const tokenOn = (page: Page): Promise<string | null> => page.evaluate("localStorage.getItem('token')")

/** Clicks a button, and waits until the page has an answer of the service. */
export async function press(page: Page, button: 'Refresh' | 'Log out'): Promise<void> {
  await page.getByRole('button', { name: button, exact: true }).click()
  await heard(page)
}

const page = (service: string) => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>User interface</title>
<link rel="icon" href="data:,">
<body data-state="asking">
<h1>User interface</h1>
<p id="problem" role="alert"></p>
<div id="methods"></div>
<div id="account" hidden>
  <p><span id="email"></span> by <span id="method"></span></p>
  <ul id="groups"></ul>
  <button id="refresh">Refresh</button> <button id="logout">Log out</button>
</div>
<div id="elsewhere"></div>
<script type="module">
const service = ${JSON.stringify(service)}
const element = name => document.getElementById(name)
const token = () => localStorage.getItem('token')

/** As xsrf.interceptor.ts: whatever answer brings a value, the newest goes with what changes something. */
async function ask(path, { method = 'GET', headers = {}, body, bearer = token() } = {}, isRepeated = false) {
  const all = { accept: 'application/json', ...headers }
  const xsrf = localStorage.getItem('xsrf')
  if (method === 'POST' && xsrf) all['x-xsrf-token'] = xsrf
  if (bearer) all.authorization = 'Bearer ' + bearer
  const answer = await fetch(service + path, { method, body, headers: all, credentials: 'include' })
  const fresh = answer.headers.get('dspace-xsrf-token')
  if (fresh) localStorage.setItem('xsrf', fresh)
  // Another tab may have been handed the newest pair.
  if (answer.status === 403 && fresh && !isRepeated)
    return ask(path, { method, headers, body, bearer }, true)
  return answer
}

/** auth.interceptor.ts, parseAuthMethodsFromHeaders and parseLocation. */
function methodsIn(header) {
  const methods = (header.match(/(\\w+ (\\w+=((".*?")|[^,]*)(, )?)*)/g) ?? []).map(realm => {
    const parts = realm.split(', ')
    const location = (parts[1] ?? '').trim().replace('location="', '').replace('"', '')
    return {
      name: parts[0].split(' ')[0].trim(),
      location: decodeURIComponent(location.replace(/%3A%2F%2F/g, '://').replace(/%3A/g, ':').trim()),
    }
  })
  const isPassword = method => method.name === 'password'
  return [...methods.filter(isPassword), ...methods.filter(method => !isPassword(method))]
}

/** auth.service.ts, getExternalServerRedirectUrl. */
function externalServerRedirectUrl(location) {
  const page = window.location.href
  const [, fromServer] = /\\?redirectUrl=(.*)/g.exec(location) ?? []
  return fromServer && fromServer !== page
    ? location.replace(/\\?redirectUrl=(.*)/g, '?redirectUrl=' + page)
    : location
}

function offer({ name, location }) {
  if (name !== 'password') {
    const button = document.createElement('button')
    button.dataset.method = name
    button.textContent = 'Log in with ' + name
    button.onclick = () => window.location.assign(externalServerRedirectUrl(location))
    return button
  }
  const form = document.createElement('form')
  form.dataset.method = name
  form.innerHTML = '<label>E-mail <input name="user"></label> ' +
    '<label>Password <input name="password" type="password"></label> <button>Log in</button>'
  form.onsubmit = event => {
    event.preventDefault()
    // The user's newest will counts, not a token that is still there.
    void showing(() => login({ body: new URLSearchParams(new FormData(form)), bearer: null }))
  }
  return form
}

async function login(request) {
  const answer = await ask('/api/authn/login', { method: 'POST', ...request })
  if (!answer.ok) throw new Error('login: ' + answer.status + ' ' + (await answer.json()).detail)
  localStorage.setItem('token', answer.headers.get('authorization').replace(/^Bearer /, ''))
  await show()
}
const empty = { headers: { 'content-type': 'application/json' }, body: '{}' }

async function show() {
  const sent = token()
  const answer = await ask('/api/authn/status')
  const status = await answer.json()
  // A session that was established elsewhere is there to be fetched.
  if (status.authenticated && !token()) return login(empty)
  element('account').hidden = !status.authenticated
  element('methods').replaceChildren()
  element('groups').replaceChildren()
  if (status.authenticated) {
    element('elsewhere').replaceChildren()
    element('email').textContent = status._embedded.eperson.email
    element('method').textContent = status.authenticationMethod
    for (const { name } of status._embedded.specialGroups._embedded.specialGroups)
      element('groups').append(Object.assign(document.createElement('li'), { textContent: name }))
  } else {
    // Another tab may have logged in since.
    if (token() === sent) localStorage.removeItem('token')
    element('methods').append(...methodsIn(answer.headers.get('www-authenticate') ?? '').map(offer))
  }
  document.body.dataset.state = status.authenticated ? 'logged in' : 'logged out'
}

async function logout() {
  const answer = await ask('/api/authn/logout', { method: 'POST' })
  localStorage.removeItem('token')
  const [, href] = /<([^>]*)>; *rel="logout"/.exec(answer.headers.get('link') ?? '') ?? []
  if (href)
    element('elsewhere').append(
      Object.assign(document.createElement('a'), { id: 'single-logout', href, textContent: 'Log out there too' }))
  await show()
}

async function showing(work) {
  document.body.dataset.state = 'asking'
  element('problem').textContent = ''
  try {
    await work()
  } catch (error) {
    element('problem').textContent = error.message
    document.body.dataset.state = 'failed'
  }
}
element('refresh').onclick = () => void showing(() => login(empty))
element('logout').onclick = () => void showing(logout)
void showing(show)
</script>
`
