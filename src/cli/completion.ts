import { Argument, Command } from 'commander'
import { say } from './output.ts'

/**
 * `carrel completion`: a script that completes commands, options and paths, made from the commands
 * themselves.
 */
export function completionCommand(): Command {
  return new Command('completion')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(scripts)))
    .description('Print the completion script of a shell (docs/reference/commands.md says where to put it).')
    .action((shell: keyof typeof scripts, _options: object, { parent }: Command) => {
      if (parent) say(scripts[shell](nodesOf(parent)).trimEnd())
    })
}

/** A command, with its place and the words that may follow it. */
interface Node {
  /** The path of the command, such as `/eperson/add`; '' for carrel itself. */
  readonly path: string
  readonly description: string
  readonly below: readonly Node[]
  readonly options: readonly {
    readonly names: readonly string[]
    readonly value: string | null
    readonly description: string
  }[]
  readonly args: readonly { readonly name: string; readonly choices: readonly string[] }[]
}

/** Lists the command, then all commands below it. */
function nodesOf(command: Command, path = ''): readonly Node[] {
  const help = command.createHelp()
  const below = help.visibleCommands(command).map(one => nodesOf(one, `${path}/${one.name()}`))
  const node = {
    path,
    description: command.description(),
    below: below.flatMap(([first]) => first ?? []),
    options: help.visibleOptions(command).map(({ short, long, flags, description }) => ({
      names: [short, long].filter(name => name !== undefined),
      value: /<(.+)>/.exec(flags)?.[1] ?? null,
      description,
    })),
    args: command.registeredArguments.map(one => ({ name: one.name(), choices: one.argChoices ?? [] })),
  }
  return [node, ...below.flat()]
}

/** True for the name of a value that is a path: `<file>`, `<folder>`, `<file.json>`. */
const isPath = (name: string | null) => name !== null && /^(file|folder)\b/.test(name)
const nameOf = ({ path }: Node) => path.slice(path.lastIndexOf('/') + 1)
const pathsOf = (nodes: readonly Node[]) => nodes.filter(({ path }) => path !== '').map(({ path }) => path)
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

const scripts = { bash, zsh, fish } as const

/** Writes the script for bash, also for version 3.2, which macOS has. */
function bash(nodes: readonly Node[]): string {
  const withValue = nodes.flatMap(({ path, options }) =>
    options.flatMap(({ names, value }) =>
      value === null ? [] : names.map(name => ({ word: `${path} ${name}`, isFile: isPath(value) })),
    ),
  )
  const alternatives = (words: readonly string[]) => words.map(word => `"${word}"`).join('|') || '-'
  const words = ({ path, below, args, options }: Node) => `    "${path}")
      words="${[...below.map(nameOf), ...args.flatMap(({ choices }) => choices)].join(' ')}"
      options="${options.flatMap(({ names }) => names).join(' ')}"
      paths="${args.some(({ name }) => isPath(name)) ? 'yes' : ''}" ;;`
  return `# bash completion of carrel
_carrel() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  local at word words options paths where=""
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "$where/\${COMP_WORDS[at]}" in
      ${alternatives(pathsOf(nodes))}) where="$where/\${COMP_WORDS[at]}" ;;
    esac
  done
  case "$where" in
${nodes.map(words).join('\n')}
  esac
  case "$where $before" in
    ${alternatives(withValue.filter(({ isFile }) => isFile).map(({ word }) => word))}) words="" options="" paths=yes ;;
    ${alternatives(withValue.filter(({ isFile }) => !isFile).map(({ word }) => word))}) return ;;
  esac
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n $paths ]]; then
    # Readline completes paths itself where bash can ask it to.
    compopt -o default 2>/dev/null ||
      while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
  else
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  fi
}
complete -F _carrel carrel
`
}

function zsh(nodes: readonly Node[]): string {
  const plain = (text: string) => text.replace(/[[\]:\\]/g, '\\$&')
  const option = ({ names, value, description }: Node['options'][number]) =>
    names.map(name => {
      const follows = value === null ? '' : `:${plain(value)}:${isPath(value) ? '_files' : ''}`
      // An option with a value may be given more than once.
      const others = value === null ? `(${names.join(' ')})` : '*'
      return quoted(`${others}${name}[${plain(description)}]${follows}`)
    })
  const argument = ({ name, choices }: Node['args'][number]) =>
    quoted(`:${plain(name)}:${isPath(name) ? '_files' : choices.length > 0 ? `(${choices.join(' ')})` : ''}`)
  const commands = ({ below }: Node) => {
    const list = below.map(one => quoted(`${plain(nameOf(one))}:${one.description}`))
    return `      if [[ $words[CURRENT] != -* ]]; then
        commands=(
          ${list.join('\n          ')}
        )
        _describe -t commands command commands
        return
      fi
`
  }
  const branch = (node: Node) => `    (${quoted(node.path)})
${node.below.length > 0 ? commands(node) : ''}      _arguments : \\
        ${[...node.options.flatMap(option), ...node.args.map(argument)].join(' \\\n        ')}
      ;;`
  return `#compdef carrel
_carrel() {
  local where='' at depth=1
  local -a commands
  for ((at = 2; at < CURRENT; at++)); do
    case "$where/$words[at]" in
      (${pathsOf(nodes).join('|')}) where="$where/$words[at]" depth=$at ;;
    esac
  done
  shift $((depth - 1)) words
  ((CURRENT -= depth - 1))
  case "$where" in
${nodes.map(branch).join('\n')}
  esac
}
if [[ $funcstack[1] == _carrel ]]; then _carrel "$@"; else compdef _carrel carrel; fi
`
}

function fish(nodes: readonly Node[]): string {
  const text = (given: string) => `'${given.replace(/['\\]/g, '\\$&')}'`
  const lines = nodes.flatMap(({ path, below, options, args }) => {
    const rule = `complete -c carrel -n "__carrel_is '${path}'"`
    return [
      ...below.map(one => `${rule} -a ${nameOf(one)} -d ${text(one.description)}`),
      ...args.flatMap(({ choices }) => choices.map(choice => `${rule} -a ${choice}`)),
      ...(args.some(({ name }) => isPath(name)) ? [`${rule} -F`] : []),
      ...options.map(({ names, value, description }) => {
        const flags = names.map(name =>
          name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
        )
        const follows = value === null ? '' : isPath(value) ? ' -r -F' : ' -x'
        return `${rule} ${flags.join(' ')}${follows} -d ${text(description)}`
      }),
    ]
  })
  return `# fish completion of carrel
function __carrel_is
    set -l where ''
    set -l words (commandline -opc)
    for word in $words[2..-1]
        switch "$where/$word"
            case ${pathsOf(nodes).join(' ')}
                set where "$where/$word"
        end
    end
    test "$where" = "$argv[1]"
end
complete -c carrel -f
${lines.join('\n')}
`
}
