import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { deriveKey, type Keyring } from '../model/keys.ts'

/** Secrets of TOTP in the store: encrypted with a key that the store of a deployment with CARREL_TOKEN_SECRET doesn't have. */
export interface SealedSecrets {
  /** @param id of the factor, for which alone it opens */
  seal(secret: Uint8Array, id: string): Uint8Array
  /** @returns undefined if no secret of the service opens it; `isOld` if an earlier one does */
  open(sealed: Uint8Array, id: string): { readonly secret: Uint8Array; readonly isOld: boolean } | undefined
}

const ivLength = 12
const tagLength = 16

export function createSealedSecrets(keyring: Keyring): SealedSecrets {
  const keyOf = (secret: Uint8Array, id: string) => deriveKey(secret, 'factor', Buffer.from(id))('seal')
  function openWith(key: Uint8Array, sealed: Uint8Array): Uint8Array | undefined {
    if (sealed.length < ivLength + tagLength) return undefined
    const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivLength))
    decipher.setAuthTag(sealed.subarray(ivLength, ivLength + tagLength))
    try {
      return Buffer.concat([decipher.update(sealed.subarray(ivLength + tagLength)), decipher.final()])
    } catch {
      return undefined
    }
  }
  return {
    seal: (secret, id) => {
      const [newest] = keyring()
      if (!newest) throw new Error('there is no secret to derive a key from')
      const iv = randomBytes(ivLength)
      const cipher = createCipheriv('aes-256-gcm', keyOf(newest, id), iv)
      const text = Buffer.concat([cipher.update(secret), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), text])
    },
    open: (sealed, id) => {
      for (const [at, one] of keyring().entries()) {
        const secret = openWith(keyOf(one, id), sealed)
        if (secret) return { secret, isOld: at > 0 }
      }
      return undefined
    },
  }
}
