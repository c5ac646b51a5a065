import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../../i18n/admin.ts'
import { Ban, ChevronDown, CircleCheck, KeyRound, LogOut, Trash2, UserRoundCog } from '../../icons.ts'
import { Confirm } from '../../parts/Confirm.tsx'
import { Field } from '../../parts/Field.tsx'
import { Icon } from '../../parts/Icon.tsx'
import { useLoad } from '../../parts/load.ts'
import { Menu } from '../../parts/Menu.tsx'
import { toast } from '../../parts/toast.tsx'
import { go } from '../../router.ts'
import { eperson } from '../../session.ts'
import { ActAs } from './ActAs.tsx'
import {
  deletePerson,
  letLogIn,
  logOutEverywhere,
  mayActAs,
  nameOf,
  type Person,
  setPassword,
} from './people.ts'

type Open = 'act' | 'password' | 'logout' | 'login' | 'delete'

/** The actions of an administrator on a person's account. */
export function PersonActions({
  person,
  onChange,
}: {
  readonly person: Person
  readonly onChange: () => void
}): JSX.Element {
  const [open, setOpen] = useState<Open>()
  const close = () => setOpen(undefined)
  const { uuid, canLogIn, email } = person
  const name = nameOf(person)
  const isSelf = eperson.value?.uuid === uuid
  const { value: mayAct } = useLoad(
    signal => (isSelf || !canLogIn ? Promise.resolve(false) : mayActAs(uuid, signal)),
    [uuid, canLogIn, isSelf],
  )
  const entries = [
    ['password', KeyRound, a('person.set-password')],
    ['logout', LogOut, a('person.log-out')],
    ['login', canLogIn ? Ban : CircleCheck, canLogIn ? a('person.disable') : a('person.enable')],
    ['delete', Trash2, a('person.delete')],
  ] as const
  return (
    <>
      {mayAct && (
        <button type="button" class="button" onClick={() => setOpen('act')}>
          <Icon of={UserRoundCog} />
          {a('act.do')}
        </button>
      )}
      <Menu
        button={
          <>
            {a('actions')}
            <Icon of={ChevronDown} size={15} />
          </>
        }
      >
        {closeMenu =>
          entries.map(([what, icon, label]) => (
            <button
              key={what}
              type="button"
              class="menu-item"
              onClick={() => {
                closeMenu()
                setOpen(what)
              }}
            >
              <Icon of={icon} />
              {label}
            </button>
          ))
        }
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
        >
          <p>{a('person.log-out.help', { name })}</p>
        </Confirm>
      )}
      {open === 'login' && (
        <Confirm
          title={canLogIn ? a('person.disable') : a('person.enable')}
          act={canLogIn ? a('person.disable') : a('person.enable')}
          tone={canLogIn ? 'danger' : 'primary'}
          onClose={close}
          work={async () => {
            await letLogIn(uuid, !canLogIn)
            toast(a('saved'))
            onChange()
          }}
        >
          <p>{canLogIn ? a('person.disable.help', { name }) : a('person.enable.help', { name })}</p>
        </Confirm>
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
        >
          <p>{a('person.delete.help')}</p>
        </Confirm>
      )}
    </>
  )
}

/** Sets a person's password without the current one. */
function NewPassword({
  person,
  onClose,
}: {
  readonly person: Person
  readonly onClose: () => void
}): JSX.Element {
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
        <input
          type="password"
          required
          minLength={8}
          autoComplete="new-password"
          value={password}
          onInput={event => setTyped(event.currentTarget.value)}
        />
      </Field>
    </Confirm>
  )
}
