import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { actAs, client } from '../../api.ts'
import { a } from '../../i18n/admin.ts'
import { Ban, CircleCheck, KeyRound, LogOut, Trash2, UserRoundCog } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Button, Input } from '../../parts/controls.tsx'
import { Field } from '../../parts/Field.tsx'
import { FormDialog } from '../../parts/forms.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Menu, MenuEntries } from '../../parts/Menu.tsx'
import { toast } from '../../parts/toast.tsx'
import {
  deletePerson,
  letLogIn,
  logOutEverywhere,
  mayActAs,
  nameOf,
  type Person,
  setPassword,
} from '../../people/people.ts'
import { go } from '../../router.ts'
import { eperson } from '../../session.ts'

type Open = 'act' | 'password' | 'logout' | 'login' | 'delete'

interface PersonActionsParts {
  readonly person: Person
  readonly onChange: () => void
}

/** The actions of an administrator on a person's account. */
export function PersonActions({ person, onChange }: PersonActionsParts): JSX.Element {
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const { uuid, canLogIn, email } = person
  const name = nameOf(person)
  const isSelf = eperson.value?.uuid === uuid
  const { value: mayAct } = useLoad(
    signal => (isSelf || !canLogIn ? Promise.resolve(false) : mayActAs(uuid, signal)),
    [uuid, canLogIn, isSelf],
  )
  const lock = canLogIn ? a('person.disable') : a('person.enable')
  return (
    <>
      {mayAct && <Button icon={UserRoundCog} label={a('act.do')} onClick={() => setOpen('act')} />}
      <Menu arrow={15} button={a('actions')}>
        {closeMenu => (
          <MenuEntries
            close={closeMenu}
            of={[
              [a('person.set-password'), () => setOpen('password'), KeyRound],
              [a('person.log-out'), () => setOpen('logout'), LogOut],
              [lock, () => setOpen('login'), canLogIn ? Ban : CircleCheck],
              [a('person.delete'), () => setOpen('delete'), Trash2],
            ]}
          />
        )}
      </Menu>
      {open === 'act' && <ActAs person={person} onClose={close} />}
      {open === 'password' && <NewPassword person={person} onClose={close} />}
      {open === 'logout' && (
        <Confirm
          tone="primary"
          title={a('person.log-out')}
          act={a('person.log-out')}
          onClose={close}
          work={async () => {
            await logOutEverywhere(uuid)
            toast(a('person.logged-out', { name }))
          }}
          help={a('person.log-out.help', { name })}
        />
      )}
      {open === 'login' && (
        <Confirm
          title={lock}
          act={lock}
          tone={canLogIn ? 'danger' : 'primary'}
          onClose={close}
          work={async () => {
            await letLogIn(uuid, !canLogIn)
            toast(a('saved'))
            onChange()
          }}
          help={canLogIn ? a('person.disable.help', { name }) : a('person.enable.help', { name })}
        />
      )}
      {open === 'delete' && (
        <Confirm
          title={a('person.delete.title', { name })}
          act={a('person.delete')}
          typed={{ label: a('confirm.typed', { word: email }), word: email }}
          onClose={close}
          work={async () => {
            await deletePerson(uuid)
            toast(a('person.deleted', { name }))
            go('admin/people')
          }}
          help={a('person.delete.help')}
        />
      )}
    </>
  )
}

interface NewPasswordParts {
  readonly person: Person
  readonly onClose: () => void
}

/** Sets a person's password without the current one. */
function NewPassword({ person, onClose }: NewPasswordParts): JSX.Element {
  const [password, setTyped] = useState('')
  return (
    <Confirm
      tone="primary"
      title={a('person.set-password')}
      act={a('person.set-password')}
      onClose={onClose}
      work={async () => {
        await setPassword(person.uuid, password)
        toast(a('person.password.set', { name: nameOf(person) }))
      }}
    >
      <p class="soft">{a('person.set-password.help', { name: nameOf(person) })}</p>
      <Field label={a('person.password.new')} hint={a('person.password.rules')}>
        <Input
          type="password"
          required
          minLength={8}
          autoComplete="new-password"
          value={password}
          onText={setTyped}
        />
      </Field>
    </Confirm>
  )
}

/** Maximum length of a reason in characters, set by the service. */
const longest = 1_000

/** Asks for a reason, then lets the administrator act on behalf of the person. */
function ActAs({ person, onClose }: { readonly person: Person; readonly onClose: () => void }): JSX.Element {
  const [reason, setReason] = useState('')
  const { uuid } = person
  const name = nameOf(person)
  const work = useWork(async () => {
    // If the service refuses, the dialog reports it once, instead of every page.
    await client.onBehalfOf(uuid, { reason: reason.trim() }).status()
    onClose()
    actAs({ uuid, name, reason: reason.trim() })
    go('')
  })
  return (
    <FormDialog title={a('act.title', { name })} act={a('act.do')} work={work} onClose={onClose}>
      <p class="soft">{a('act.help')}</p>
      <Field label={a('act.reason')}>
        <Input required maxLength={longest} pattern=".*\S.*" value={reason} onText={setReason} />
      </Field>
    </FormDialog>
  )
}
