import type { ComponentChildren, JSX } from 'preact'
import './facts.css'

/** A list of names and values, one per line. */
export const Facts = ({
  of,
}: {
  readonly of: readonly (readonly [name: string, value: ComponentChildren] | false | undefined)[]
}): JSX.Element => (
  <dl class="facts">
    {of.map(one =>
      one ? (
        <div key={one[0]}>
          <dt>{one[0]}</dt>
          <dd>{one[1]}</dd>
        </div>
      ) : null,
    )}
  </dl>
)
