import type { Config } from '../../config/config.ts'
import { addressesOf } from '../../http/addresses.ts'
import { signOnAddresses } from '../../sso/addresses.ts'
import { type Finding, findingsAbout } from './finding.ts'
import { statusOf } from './folder-facts.ts'
import { ago, day } from './words.ts'

/** Age of old metadata in ms. Federations renew theirs every day, and keys change within months. */
const oldMetadata = 90 * day

/** Advice for every finding; the findings themselves say what would be right. */
const seeGuide = 'docs/sso.md explains the setting; `carrel sso check` repeats this part'

/** Makes the findings of `carrel sso check`, and those about old metadata. It asks the providers. */
export async function* checkSignOn(config: Config, now: number): AsyncIterable<Finding> {
  const { singleSignOn } = config
  if (singleSignOn === null) return
  // Loaded only here: the protocol libraries take longer to load than most commands to run.
  const { checkSignOn: check } = await import('../../sso/check/check.ts')
  const addresses = signOnAddresses(addressesOf(config))
  for await (const { level, about, what } of check({ ...config, singleSignOn, addresses }))
    yield { level, about: `sso ${about}`, what, advice: level === 'ok' ? null : seeGuide }
  for (const provider of singleSignOn.providers) {
    const place = provider.kind === 'saml' ? provider.metadata : undefined
    const modified = place?.from === 'file' ? statusOf(place.path)?.mtimeMs : undefined
    if (modified !== undefined && now - modified > oldMetadata)
      yield findingsAbout(`sso ${provider.id}`).note(
        `its metadata was fetched ${ago(now - modified)}`,
        'fetch it again, regularly: a new certificate of the provider is announced there',
      )
  }
}
