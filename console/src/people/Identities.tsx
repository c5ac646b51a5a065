import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { a } from '../i18n/admin.ts'
import { formatTime, t } from '../i18n/i18n.ts'
import { Confirm } from '../parts/Confirm.tsx'
import { HalTable } from '../parts/HalTable.tsx'
import type { Column } from '../parts/Table.tsx'
import { toast } from '../parts/toast.tsx'
import { href } from '../router.ts'
import { type Identity, identities, unlink } from './logins.ts'
import { personPath } from './people.ts'

const personColumn = (): Column<Identity> => ({
  id: 'person',
  label: a('person.title'),
  cell: ({ eperson, email }) => (
    <a href={href(personPath(eperson))}>
      <bdi>{email}</bdi>
    </a>
  ),
})

/**
 * Epersons' identities at providers of single sign-on. They are created by logins, and by administrators on a
 * person's page.
 *
 * @param person limits the list to one eperson
 * @param changed the list is loaded again when this number changes
 */
export function Identities({
  person,
  changed = 0,
}: {
  readonly person?: string
  readonly changed?: number
}): JSX.Element {
  const [leaving, setLeaving] = useState<Identity>()
  const [removed, setRemoved] = useState(0)
  return (
    <>
      <HalTable<Identity>
        label={a('identities.title')}
        path={identities}
        name="identities"
        parameters={{ eperson: person }}
        version={changed + removed}
        size={25}
        idOf={({ provider, eperson }) => `${provider} ${eperson}`}
        empty={<p class="soft">{t('none')}</p>}
        columns={[
          ...(person === undefined ? [personColumn()] : []),
          { id: 'provider', label: a('explain.provider'), cell: ({ provider }) => <bdi>{provider}</bdi> },
          {
            id: 'subject',
            label: a('explain.subject'),
            wrap: true,
            cell: ({ subject }) => <bdi>{subject}</bdi>,
          },
          { id: 'linked', label: a('identities.linked'), cell: ({ linked }) => formatTime(linked) },
          {
            id: 'unlink',
            label: <span class="sr-only">{a('actions')}</span>,
            cell: one => (
              <button type="button" class="link-button danger" onClick={() => setLeaving(one)}>
                {a('identities.unlink')}
                <span class="sr-only"> {one.email}</span>
              </button>
            ),
          },
        ]}
      />
      {leaving && (
        <Confirm
          title={a('identities.unlink.title', { name: leaving.email, provider: leaving.provider })}
          act={a('identities.unlink')}
          onClose={() => setLeaving(undefined)}
          work={async () => {
            await unlink(leaving)
            toast(a('identities.unlinked'))
            setRemoved(removed + 1)
          }}
        >
          <p>{a('identities.unlink.help')}</p>
        </Confirm>
      )}
    </>
  )
}
