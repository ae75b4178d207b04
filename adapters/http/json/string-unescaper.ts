const [QUOTE, BACKSLASH] = [0x22, 0x5c];

/** Stands for an escaped character that is neither printable ASCII nor white space. */
const OTHER = 0;
const SPACE = 0x20;

/** The text of a JSON string of ASCII characters, from behind its opening quote, piece by piece. */
export class StringUnescaper {
  /** Of the closing quote. */
  hasEnded = false;
  /** The beginning of an escape whose end is in the next piece. */
  private escape = '';

  /**
   * What a piece has of the text from `from`, and where the string or the piece ends. An escaped character that is no
   * printable ASCII becomes a zero byte, and a line break or a tab a space.
   */
  read(piece: Uint8Array, from: number): { readonly text: Uint8Array; readonly at: number } {
    const quote = piece.indexOf(QUOTE, from);
    const end = quote === -1 ? piece.byteLength : quote;
    if (this.escape !== '' || piece.subarray(from, end).includes(BACKSLASH)) return this.unescape(piece, from);
    this.hasEnded = quote !== -1;
    return { text: piece.subarray(from, end), at: this.hasEnded ? end + 1 : end };
  }

  private unescape(piece: Uint8Array, from: number): { readonly text: Uint8Array; readonly at: number } {
    const text = new Uint8Array(piece.byteLength - from);
    let length = 0;
    for (let at = from; at < piece.byteLength; at += 1) {
      const byte = piece[at] as number;
      if (this.escape !== '') {
        const char = this.escaped(byte);
        if (char !== undefined) text[length++] = char;
      } else if (byte === BACKSLASH) this.escape = '\\';
      else if (byte === QUOTE) {
        this.hasEnded = true;
        return { text: text.subarray(0, length), at: at + 1 };
      } else text[length++] = byte;
    }
    return { text: text.subarray(0, length), at: piece.byteLength };
  }

  /** The character, once its escape is whole. */
  private escaped(byte: number): number | undefined {
    this.escape += String.fromCharCode(byte);
    if (this.escape.startsWith('\\u') && this.escape.length < 6) return undefined;
    const char = charOf(this.escape);
    this.escape = '';
    return char;
  }
}

function charOf(escape: string): number {
  if (/^\\["\\/]$/.test(escape)) return escape.charCodeAt(1);
  if (/^\\(?:[nrtf]|u00(?:09|0[aA]|0[cCdD]))$/.test(escape)) return SPACE;
  const code = /^\\u[0-9a-f]{4}$/i.test(escape) ? Number.parseInt(escape.slice(2), 16) : OTHER;
  return code >= 0x20 && code < 0x7f ? code : OTHER;
}
