import { startProcess } from '@carrel/client/processes'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { service } from '../../api.ts'
import { a, aOf } from '../../i18n/admin.ts'
import { t } from '../../i18n/i18n.ts'
import { Dialog } from '../../parts/Dialog.tsx'
import { Field } from '../../parts/Field.tsx'
import { useLoad, useWork } from '../../parts/load.ts'
import { Loading, ProblemNotice } from '../../parts/states.tsx'
import { go } from '../../router.ts'
import { loadScripts, processPath } from './processes.ts'

/**
 * A dialog that starts a script of the service. @param only the script to start; without it, the user chooses
 * one
 */
export function StartScript({
  only,
  onClose,
}: {
  readonly only?: string
  readonly onClose: () => void
}): JSX.Element {
  const { value: scripts, problem } = useLoad(loadScripts, [])
  const [name, setName] = useState(only)
  const [values, setValues] = useState<Readonly<Record<string, string>>>({})
  const script = scripts?.find(one => one.name === (name ?? scripts[0]?.name))
  const work = useWork(async () => {
    if (!script) return
    const given = Object.fromEntries(
      script.parameters.flatMap(({ nameLong }) => {
        const value = values[nameLong]?.trim() ?? ''
        return value === '' ? [] : [[nameLong.replace(/^--/, ''), value]]
      }),
    )
    const { processId } = await startProcess(service.value, script.name, given)
    onClose()
    go(processPath(processId))
  })
  return (
    <Dialog
      title={only === undefined ? a('processes.start') : aOf('script', only)}
      onClose={onClose}
      onSubmit={work.run}
      footer={
        <>
          <button type="button" class="button" onClick={onClose}>
            {t('cancel')}
          </button>
          <button type="submit" class="button primary" aria-busy={work.busy} aria-disabled={!script}>
            {a('processes.start.do')}
          </button>
        </>
      }
    >
      {scripts ? (
        <>
          {only === undefined && (
            <Field label={a('process.kind')}>
              <select
                value={script?.name ?? ''}
                onChange={event => {
                  setName(event.currentTarget.value)
                  setValues({})
                }}
              >
                {scripts.map(one => (
                  <option key={one.name} value={one.name}>
                    {aOf('script', one.name)}
                  </option>
                ))}
              </select>
            </Field>
          )}
          {script && <p class="soft">{aOf('about', script.name)}</p>}
          {script?.parameters.map(({ nameLong, type }) => (
            <Field key={nameLong} label={aOf('parameter', nameLong)} hint={aOf('hint', nameLong)}>
              <input
                inputMode={type === 'integer' ? 'numeric' : 'text'}
                autoComplete="off"
                value={values[nameLong] ?? ''}
                onInput={event => setValues({ ...values, [nameLong]: event.currentTarget.value })}
              />
            </Field>
          ))}
        </>
      ) : (
        problem === undefined && <Loading lines={3} />
      )}
      <ProblemNotice problem={problem ?? work.problem} />
    </Dialog>
  )
}
