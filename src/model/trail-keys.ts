import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { deriveKey } from './keys.ts'
import { type TrailKey, trailKey } from './trail.ts'

/**
 * An encrypted key of the audit trail. The keys are random, and the store keeps them encrypted (AES-256-GCM,
 * NIST SP 800-38D) with a key derived from the service's secret. A rotation of the secret adds a new key and
 * encrypts the others again, so they outlive the secret (docs/decisions/0027).
 */
export type KeyRow = { readonly id: number; readonly wrapped: Uint8Array }

/** The trail's keys, and the changes that the store has to make to them. */
interface KeyPlan {
  /** The key that seals new events. */
  readonly current: TrailKey
  /** Rows to replace. */
  readonly rewrapped: readonly KeyRow[]
  /** Row to add; undefined if the newest key stays in use. */
  readonly added: Uint8Array | undefined
}

/**
 * Decides which key seals new events, and which rows the store has to change.
 * @param rows the stored keys, newest first
 * @param secrets the service's secrets, the signing one first
 */
export function planKeys(rows: readonly KeyRow[], secrets: readonly Uint8Array[]): KeyPlan {
  const [signing] = secrets
  if (!signing) throw new Error('the service has no secret')
  const opened = rows.flatMap(({ id, wrapped }) => unwrap(wrapped, secrets, id))
  const isRotated = opened[0]?.secret !== signing
  const added = isRotated ? randomBytes(32) : undefined
  const newest = added ?? opened[0]?.key
  if (!newest) throw new Error('the trail has no key')
  return {
    current: trailKey(newest),
    added: added && wrap(added, signing),
    rewrapped: opened
      .filter(({ secret }) => secret !== signing)
      .map(({ id, key }) => ({ id, wrapped: wrap(key, signing) })),
  }
}

export interface OpenedKeys {
  /** The keys, newest first. */
  readonly keys: readonly TrailKey[]
  /** Number of keys that no secret decrypts. */
  readonly locked: number
}

/** Decrypts keys for reading only. */
export function openKeys(rows: readonly KeyRow[], secrets: readonly Uint8Array[]): OpenedKeys {
  const keys = rows.flatMap(({ id, wrapped }) => unwrap(wrapped, secrets, id).map(({ key }) => trailKey(key)))
  return { keys, locked: rows.length - keys.length }
}

const cipher = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16

const wrappingKey = (secret: Uint8Array): Buffer => deriveKey(secret, 'trail', new Uint8Array())('wrap')

function wrap(key: Uint8Array, secret: Uint8Array): Buffer {
  const nonce = randomBytes(nonceLength)
  const encrypt = createCipheriv(cipher, wrappingKey(secret), nonce)
  return Buffer.concat([nonce, encrypt.update(key), encrypt.final(), encrypt.getAuthTag()])
}

function unwrap(wrapped: Uint8Array, secrets: readonly Uint8Array[], id: number) {
  for (const secret of secrets)
    try {
      const decrypt = createDecipheriv(cipher, wrappingKey(secret), wrapped.subarray(0, nonceLength), {
        authTagLength: tagLength,
      })
      decrypt.setAuthTag(wrapped.subarray(-tagLength))
      const key = Buffer.concat([decrypt.update(wrapped.subarray(nonceLength, -tagLength)), decrypt.final()])
      return [{ id, key, secret }]
    } catch {
      // The row was encrypted with another secret, or with one that is not given.
    }
  return []
}
