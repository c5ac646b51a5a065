import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { KeyRound, LogOut } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { toast } from '../../parts/toast.tsx'
import { Identities } from '../../people/Identities.tsx'
import { endAllSessions, rotateSecret } from '../../people/logins.ts'
import { logout } from '../../session.ts'
import { AllTokens } from './AllTokens.tsx'
import { SystemPage } from './SystemPage.tsx'

/**
 * Everything that gives access to the service: access tokens, identities at providers, sessions, and the
 * secret.
 */
function Logins(): JSX.Element {
  const [open, setOpen] = useState<'end' | 'rotate'>()
  return (
    <SystemPage
      title={a('logins.tab')}
      lead={a('logins.lead')}
      actions={
        <>
          <button type="button" class="button" onClick={() => setOpen('rotate')}>
            <Icon of={KeyRound} />
            {a('secret.rotate')}
          </button>
          <button type="button" class="button danger" onClick={() => setOpen('end')}>
            <Icon of={LogOut} />
            {a('sessions.end-all')}
          </button>
        </>
      }
    >
      <section class="section">
        <h2>{a('tokens.title')}</h2>
        <AllTokens />
      </section>
      <section class="section">
        <h2>{a('identities.title')}</h2>
        <p class="soft prose">{a('identities.help')}</p>
        <Identities />
      </section>
      {open === 'rotate' && (
        <Confirm
          tone="primary"
          title={a('secret.rotate')}
          act={a('secret.rotate')}
          onClose={() => setOpen(undefined)}
          work={async () => toast(a('secret.rotated', { n: await rotateSecret() }))}
        >
          <p>{a('secret.rotate.help')}</p>
        </Confirm>
      )}
      {open === 'end' && (
        <Confirm
          title={a('sessions.end-all.title')}
          act={a('sessions.end-all')}
          onClose={() => setOpen(undefined)}
          work={async () => {
            await endAllSessions()
            // The current session has ended, too. Logging out makes the browser forget it, in every tab.
            await logout()
          }}
        >
          <p>{a('sessions.end-all.help')}</p>
        </Confirm>
      )}
    </SystemPage>
  )
}

export default Logins
