import type { JSX } from 'preact'
import { a } from '../i18n/admin.ts'
import { Confirm } from '../parts/Confirm.tsx'
import { toast } from '../parts/toast.tsx'
import { type AccessToken, revoke } from './people.ts'

interface Parts {
  /** The UUID of the token's owner. */
  readonly eperson: string
  readonly token: Pick<AccessToken, 'id' | 'name'>
  readonly onClose: () => void
  readonly onRevoked: () => void
}

/** Asks for confirmation before an access token is revoked. */
export const RevokeToken = ({ eperson, token, onClose, onRevoked }: Parts): JSX.Element => (
  <Confirm
    title={a('tokens.revoke.title', { name: token.name })}
    act={a('tokens.revoke')}
    onClose={onClose}
    work={async () => {
      await revoke(eperson, token.id)
      toast(a('tokens.revoked'))
      onRevoked()
    }}
    help={a('tokens.revoke.help')}
  />
)
