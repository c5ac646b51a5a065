import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { signOnAddresses } from '../authn/sso/addresses.ts'
import { federationOf } from '../authn/sso/federation.ts'
import type { Finding } from '../authn/sso/findings.ts'
import type { VouchingIdp } from '../authn/sso/protocol.ts'
import { attributesOf, matchingOf, readIdentity } from '../authn/sso/read-identity.ts'
import { refusals } from '../authn/sso/refusals.ts'
import { type Config, toConfig } from '../config/config.ts'
import { type AnyProvider, providersIn, type SingleSignOnConfig } from '../config/providers.ts'
import { addressesOf } from '../http/addresses.ts'
import type { Storage } from '../storage/storage.ts'
import { Failure, Misuse } from './failures.ts'
import { type Json, jsonOption, printable, sayList, sayResult, table } from './output.ts'
import { commandEvent, withStore } from './store.ts'

/** `carrel sso …`: checks the configuration of single sign-on, and lists and removes identities. */
export function ssoCommand(): Command {
  const command = new Command('sso').description(
    'Check single sign-on, and list and remove the identities of epersons.',
  )

  command
    .command('check')
    .description('Check the configuration and ask the providers. Changes nothing.')
    .option('--json', 'print JSON')
    .action(async ({ json }: { json?: boolean }) => {
      const config = toConfig(process.env)
      const singleSignOn = signOnOf(config)
      const findings: Finding[] = []
      // Loaded only here: the protocol libraries take longer to load than most commands to run.
      const { checkSignOn } = await import('../authn/sso/check.ts')
      const addresses = signOnAddresses(addressesOf(config))
      for await (const finding of checkSignOn({ ...config, singleSignOn, addresses })) findings.push(finding)
      sayList(json, findings, () =>
        table(
          ['', 'ABOUT', 'FOUND'],
          findings.map(({ level, about, what }) => [level, about, what]),
        ),
      )
      const errors = findings.filter(({ level }) => level === 'error').length
      if (errors > 0) throw new Failure(`${errors} ${errors === 1 ? 'error' : 'errors'} found; see above`)
    })

  command
    .command('explain')
    .description('Show which eperson and which special groups these attributes would give. Logs nobody in.')
    .requiredOption('--attributes <file.json>', 'the attributes or claims, as one JSON object')
    .option('--provider <id>', 'the provider that they come from; required if there are several')
    .option('--entity-id <entityId>', 'of a federation, the identity provider that they come from')
    .option('--json', 'print JSON')
    .action(async (options: { attributes: string; provider?: string; entityId?: string; json?: boolean }) => {
      const attributes = attributesOf(readJson(options.attributes))
      await withStore(async ({ identities }, config) => {
        const provider = providerOf(signOnOf(config), options.provider)
        const idp = await idpOf(provider, options.entityId)
        const explained = await explain(provider, idp, attributes, config, identities)
        sayResult(options.json, explained, inWords(explained))
      })
    })

  command
    .command('identities')
    .description('List the identities of epersons at providers.')
    .option('--json', 'print JSON')
    .action(({ json }: { json?: boolean }) =>
      withStore(async ({ identities }) => {
        const linked = await identities.listIdentities()
        sayList(json, linked, () =>
          table(
            ['EMAIL', 'PROVIDER', 'SUBJECT', 'LINKED'],
            linked.map(one => [one.email, one.provider, one.subject, one.linked]),
          ),
        )
      }),
    )

  command
    .command('unlink <email> <provider>')
    .description("Remove an eperson's identity at a provider. Their tokens end.")
    .option(...jsonOption)
    .action((email: string, provider: string, { json }: Json) =>
      withStore(async ({ identities }) => {
        const changed = await identities.unlink(email, provider, commandEvent('eperson.unlink', provider))
        if (changed === 'no-eperson')
          throw new Failure(`there is no eperson ${email}; \`carrel eperson list\` shows all`)
        if (changed === 'unchanged')
          throw new Failure(`${email} has no identity at ${provider}; \`carrel sso identities\` shows all`)
        sayResult(
          json,
          { email, provider, unlinked: true },
          `Removed the identity of ${email} at ${provider}.`,
        )
      }),
    )
  return command
}

function signOnOf({ singleSignOn }: Config): SingleSignOnConfig {
  if (singleSignOn === null)
    throw new Failure(
      'single sign-on is not configured; set CARREL_CONFIG to a configuration file with singleSignOn',
    )
  return singleSignOn
}

function providerOf(config: SingleSignOnConfig, id: string | undefined): AnyProvider {
  const providers = providersIn(config)
  const [only, ...more] = providers
  if (id === undefined && only && more.length === 0) return only
  const known = providers.find(one => one.id === id)
  if (known) return known
  throw new Misuse(`--provider must be one of ${providers.map(one => one.id).join(', ')}`)
}

/** The metadata says which scopes its word is good for. */
async function idpOf(provider: AnyProvider, entityId: string | undefined): Promise<VouchingIdp | undefined> {
  const isFederation = federationOf(provider) !== undefined
  if (isFederation !== (entityId !== undefined))
    throw new Misuse(
      isFederation
        ? `${provider.id} is a federation: give the identity provider with --entity-id`
        : `--entity-id is for federations, and ${provider.id} is none`,
    )
  if (provider.kind !== 'saml' || entityId === undefined) return undefined
  const { inspectIdp } = await import('../authn/sso/metadata/inspect.ts')
  try {
    return (await inspectIdp(provider, entityId)).metadata
  } catch (error) {
    throw new Failure(`the metadata of ${provider.id}: ${(error as Error).message}`)
  }
}

function readJson(file: string): Readonly<Record<string, unknown>> {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    const why = error instanceof SyntaxError ? 'it is not valid JSON' : (error as NodeJS.ErrnoException).code
    throw new Failure(`${file} can't be read: ${why}`)
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw new Failure(`${file} must contain one JSON object with the names and values of attributes`)
  return content as Record<string, unknown>
}

interface Explained {
  readonly provider: string
  readonly subject: string | null
  readonly email: string | null
  readonly emailIgnored: string | null
  /** What would happen: known, linked, created or refused. */
  readonly outcome: string
  readonly why: string | null
  readonly eperson: { readonly uuid: string; readonly email: string } | null
  /** Names of the special groups that would be in the token. */
  readonly specialGroups: readonly string[]
}

async function explain(
  provider: AnyProvider,
  idp: VouchingIdp | undefined,
  attributes: ReturnType<typeof attributesOf>,
  { methodGroups }: Pick<Config, 'methodGroups'>,
  identities: Storage['identities'],
): Promise<Explained> {
  const read = readIdentity(provider, attributes, idp)
  const nobody = { provider: provider.id, subject: null, email: null, emailIgnored: null, eperson: null }
  if (typeof read === 'string') return { ...nobody, outcome: 'refused', why: read, specialGroups: [] }
  const { identity, emailIgnored, groups } = read
  const found = await identities.whoIs(identity, matchingOf(provider))
  const isRefused = found.kind === 'refused'
  const ofMethod = methodGroups.filter(({ method }) => method === provider.scheme).map(({ group }) => group)
  return {
    provider: provider.id,
    subject: identity.subject,
    email: identity.email,
    emailIgnored,
    outcome: found.kind,
    why: isRefused ? refusals[found.why] : null,
    eperson: found.eperson && { uuid: found.eperson.uuid, email: found.eperson.email },
    specialGroups: isRefused ? [] : [...new Set([...ofMethod, ...groups])],
  }
}

function inWords({
  provider,
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
    `Subject         ${subject ?? '–'}`,
    `E-mail          ${email ?? (emailIgnored === null ? '–' : `ignored: ${emailIgnored}`)}`,
    `Outcome         ${outcomes[outcome] ?? outcome}`,
    `Special groups  ${specialGroups.length === 0 ? '–' : specialGroups.join(', ')}`,
  ]
  return lines.map(printable).join('\n')
}
