import { createCipheriv, createDecipheriv, timingSafeEqual } from 'node:crypto'
import { macWith } from '../lib/hmac.ts'
import { memo } from '../lib/memo.ts'
import { deriveKey, type Keyring } from './keys.ts'

/** The state of an imported entity at a moment, which is the same for ever (docs/decisions/0082). */
export interface EntityState {
  /** The name of the entity. */
  readonly entity: string
  /** The version that began the line of versions with the same records, single changes aside. */
  readonly root: string
  /** The number of the last change of the line that counts; 0: none. */
  readonly seq: number
}

/** Writes states as opaque texts, and reads them. */
interface SealedStates {
  /** @returns the same text for the same states; undefined if it would be too long for links */
  seal(states: readonly EntityState[]): string | undefined
  /** @returns undefined for a text that wasn't made by `seal` */
  open(text: string): readonly EntityState[] | undefined
}

/** Maximum length of a text in characters: an answer has up to five of them in its headers. */
const maxLength = 800
const ivLength = 16
const cipher = 'aes-256-ctr'
const nothing = new Uint8Array()

/**
 * Seals states with keys of the service. The initialisation vector is the authentication code of the states, as in SIV
 * (RFC 5297 §2.6), so that it can't be used for two texts, and equal states have equal texts.
 */
export function sealedStates(keyring: Keyring): SealedStates {
  const keysOf = memo((secret: Uint8Array) => {
    const derived = deriveKey(secret, 'snapshot', nothing)
    return { code: macWith(derived('code')), encryption: derived('encryption') }
  })
  return {
    seal: states => {
      const [newest] = keyring()
      if (!newest) throw new Error('there is no secret to sign with')
      const { code, encryption } = keysOf(newest)
      const plain = Buffer.from(states.map(({ entity, root, seq }) => `${entity} ${root} ${seq}`).join('\n'))
      const iv = code(plain).subarray(0, ivLength)
      const text = Buffer.concat([iv, createCipheriv(cipher, encryption, iv).update(plain)])
      const sealed = text.toString('base64url')
      return sealed.length > maxLength ? undefined : sealed
    },
    open: text => {
      if (text.length > maxLength) return undefined
      const bytes = Buffer.from(text, 'base64url')
      // Each state has one text: what the decoder ignores or takes for the same is refused.
      if (bytes.length <= ivLength || bytes.toString('base64url') !== text) return undefined
      const iv = bytes.subarray(0, ivLength)
      for (const secret of keyring()) {
        const { code, encryption } = keysOf(secret)
        const plain = createDecipheriv(cipher, encryption, iv).update(bytes.subarray(ivLength))
        if (!timingSafeEqual(code(plain).subarray(0, ivLength), iv)) continue
        return plain
          .toString()
          .split('\n')
          .map(line => {
            const [entity = '', root = '', seq] = line.split(' ')
            return { entity, root, seq: Number(seq) }
          })
      }
      return undefined
    },
  }
}
