import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { type Config, toConfig } from '../config/config.ts'
import type { SingleSignOnConfig } from '../config/providers.ts'
import { isObject } from '../lib/json.ts'
import { quantity } from '../lib/quantities.ts'
import {
  type Explained,
  type ExplainRequest,
  explain,
  type WantedLink,
  WrongProvider,
  wantedLink,
} from '../sso/explain.ts'
import type { SubjectOf } from '../storage/statements/identities.ts'
import { checkedSignOn } from './doctor/examine.ts'
import { Failure, Misuse, noEperson } from './failures.ts'
import { type Json, jsonOption, printable, sayResult, sayTable } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel sso …`: checks the configuration of single sign-on, and lists, adds and removes identities. */
export function ssoCommand(): Command {
  const command = new Command('sso').description(
    'Check single sign-on, and list, add and remove the identities of epersons.',
  )

  command
    .command('check')
    .description('Check the configuration and ask the providers. Changes nothing.')
    .option('--json', 'print JSON')
    .action(check)

  command
    .command('explain')
    .description('Show which eperson and which special groups these attributes would give. Logs nobody in.')
    .option('--attributes <file.json>', 'the attributes or claims, as one JSON object')
    .option('--assertion <file>', 'what the provider sent: a SAML response or assertion, or an ID token')
    .option('--provider <id>', 'the provider that they come from; required if there are several')
    .option('--entity-id <entityId>', 'of a federation, the identity provider that they come from')
    .option('--json', 'print JSON')
    .action(explainLogin)

  command
    .command('identities')
    .description('List the identities of epersons at providers.')
    .option('--json', 'print JSON')
    .action(listIdentities)

  command
    .command('link <email> <provider> <subject>')
    .description('Link an eperson to a subject of a provider: from then on, a login there is theirs.')
    .option('--entity-id <entityId>', 'of a federation, the identity provider')
    .option(...jsonOption)
    .action(link)

  command
    .command('unlink <email> <provider>')
    .description("Remove an eperson's identity at a provider. Their tokens end.")
    .option(...jsonOption)
    .action(unlink)
  return command
}

async function check({ json }: Json): Promise<void> {
  const config = toConfig(process.env)
  const findings = await checkedSignOn(config, signOnOf(config))
  sayTable(json, findings, {
    '': one => one.level,
    ABOUT: one => one.about,
    FOUND: one => one.what,
  })
  const errors = findings.filter(({ level }) => level === 'error').length
  if (errors > 0) throw new Failure(`${quantity(errors, 'error')} found; see above`)
}

const explainLogin = (options: ExplainOptions): Promise<void> =>
  withStore(async ({ identities }, config) => {
    const { provider = null, entityId = null, json } = options
    const parts = { config: { ...config, singleSignOn: signOnOf(config) }, identities }
    const explained = await explain({ provider, entityId, given: givenBy(options) }, parts).catch(error =>
      inOptions(error),
    )
    sayResult(json, explained, inWords(explained))
  })

const listIdentities = ({ json }: Json): Promise<void> =>
  withStore(async ({ identities }) =>
    sayTable(json, await identities.listIdentities(), {
      EMAIL: one => one.email,
      PROVIDER: one => one.provider,
      SUBJECT: one => one.subject,
      LINKED: one => one.linked,
    }),
  )

const link = (
  email: string,
  id: string,
  given: string,
  { entityId = null, json }: LinkOptions,
): Promise<void> =>
  withStore(async ({ identities }, config) => {
    const { provider, subject } = subjectOf({ provider: id, subject: given, entityId }, signOnOf(config))
    const linked = await identities.link(email, { provider, subject }, commandEvent('eperson.link', provider))
    if (linked === 'no-eperson') throw noEperson(email)
    if (linked === 'taken')
      throw new Failure('this subject is another eperson; `carrel sso unlink` removes that link')
    if (linked === 'other-subject')
      throw new Failure(`${email} is another subject there; \`carrel sso unlink\` removes that link`)
    const already = linked === 'unchanged'
    sayResult(
      json,
      { email, provider, subject, linked: !already },
      `${email} is ${subject} at ${provider}${already ? ' already' : ''}.`,
    )
  })

const unlink = (email: string, provider: string, { json }: Json): Promise<void> =>
  withStore(async ({ identities }) => {
    const changed = await identities.unlink(email, provider, commandEvent('eperson.unlink', provider))
    if (changed === 'no-eperson') throw noEperson(email)
    if (changed === 'unchanged')
      throw new Failure(`${email} has no identity at ${provider}; \`carrel sso identities\` shows all`)
    sayResult(json, { email, provider, unlinked: true }, `Removed the identity of ${email} at ${provider}.`)
  })

function signOnOf({ singleSignOn }: Config): SingleSignOnConfig {
  if (singleSignOn === null)
    throw new Failure(
      'single sign-on is not configured; set CARREL_CONFIG to a configuration file with singleSignOn',
    )
  return singleSignOn
}

interface LinkOptions extends Json {
  readonly entityId?: string | null
}

function subjectOf(wanted: WantedLink, config: SingleSignOnConfig): SubjectOf {
  try {
    return wantedLink(wanted, config)
  } catch (error) {
    return inOptions(error, 'the provider')
  }
}

interface ExplainOptions extends Json {
  readonly attributes?: string
  readonly assertion?: string
  readonly provider?: string
  readonly entityId?: string
}

function givenBy({ attributes, assertion }: ExplainOptions): ExplainRequest['given'] {
  if ((attributes === undefined) === (assertion === undefined))
    throw new Misuse('give either --attributes or --assertion')
  if (assertion !== undefined) return { kind: 'assertion', text: readText(assertion) }
  return { kind: 'attributes', attributes: readJson(attributes ?? '') }
}

function inOptions(error: unknown, provider = '--provider'): never {
  if (!(error instanceof WrongProvider)) throw error
  throw new Misuse(`${error.parameter === 'provider' ? provider : '--entity-id'} ${error.message}`)
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new Failure(`${file} can't be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

function readJson(file: string): Readonly<Record<string, unknown>> {
  let content: unknown
  const text = readText(file)
  try {
    content = JSON.parse(text)
  } catch {
    throw new Failure(`${file} can't be read: it is not valid JSON`)
  }
  if (!isObject(content))
    throw new Failure(`${file} must contain one JSON object with the names and values of attributes`)
  return content
}

function inWords({
  provider,
  signature,
  subject,
  email,
  emailIgnored,
  outcome,
  why,
  eperson,
  specialGroups,
}: Explained): string {
  const who = eperson === null ? '' : `${eperson.email} (${eperson.uuid})`
  const outcomes: Readonly<Record<string, string>> = {
    known: `logs in as ${who}, who is known by subject`,
    linked: `logs in as ${who}, matched by e-mail address, and is linked from then on`,
    created: `logs in as a new eperson ${email}`,
    refused: `is refused: ${why}${who === '' ? '' : ` (${who})`}`,
  }
  const lines = [
    `Provider        ${provider}`,
    ...(signature === null ? [] : [`Signature       ${signature}`]),
    `Subject         ${subject ?? '–'}`,
    `E-mail          ${email ?? (emailIgnored === null ? '–' : `ignored: ${emailIgnored}`)}`,
    `Outcome         ${outcomes[outcome] ?? outcome}`,
    `Special groups  ${specialGroups.length === 0 ? '–' : specialGroups.join(', ')}`,
  ]
  return lines.map(printable).join('\n')
}
