import type { printParseErrorCode } from 'jsonc-parser'

/** The parser's error codes in words. */
export const jsonErrors: Readonly<Record<ReturnType<typeof printParseErrorCode>, string>> = {
  InvalidSymbol: 'it has text that is not JSON; strings must be in double quotes',
  InvalidNumberFormat: 'it has a malformed number',
  PropertyNameExpected: 'a key in double quotes is expected',
  ValueExpected: 'a value is expected',
  ColonExpected: 'a colon is expected',
  CommaExpected: 'a comma is expected',
  CloseBraceExpected: 'a closing brace } is expected',
  CloseBracketExpected: 'a closing bracket ] is expected',
  EndOfFileExpected: 'there is text after the end of the array',
  InvalidCommentToken: 'comments are not allowed',
  UnexpectedEndOfComment: 'comments are not allowed',
  UnexpectedEndOfString: 'a string has no closing quote',
  UnexpectedEndOfNumber: 'a number is incomplete',
  InvalidUnicode: 'a \\u escape needs four hexadecimal digits',
  InvalidEscapeCharacter: 'a string has an unknown escape after a backslash',
  InvalidCharacter: 'a string has a control character that must be escaped',
  '<unknown ParseErrorCode>': 'it is not JSON',
}
