/**
 * The caption's letters as pen strokes, drawn for this project, so that no font has to be installed. `advance:strokes`:
 * a stroke is a run of points, two base-36 digits each (x, then y downwards: capitals start at 4, small letters at a, the
 * baseline is m, descenders end at s). `~` draws a smooth curve through its points, `@` a closed one, one point is a dot.
 */
export const GLYPH_STROKES: Readonly<Record<string, string>> = {
  a: '10:@5a 1c 0g 1k 5m 9k ag 9c|aa am', b: '10:04 0m|@5a 1c 0g 1k 5m 9k ag 9c', c: '9:~9c 5a 1c 0g 1k 5m 9k',
  d: '10:a4 am|@5a 1c 0g 1k 5m 9k ag 9c', e: '10:0g ag|~ag 9c 5a 1c 0g 1k 5m 9k', f: '8:~95 74 56 4a|4a 4m|0a 8a',
  g: '10:@5a 1c 0g 1k 5m 9k ag 9c|aa an|~an 9r 5s 1r', h: '10:04 0m|~0e 2b 5a 8b ae|ae am', i: '0:0a 0m|05',
  j: '3:3a 3o|~3o 2r 0s|35', k: '9:04 0m|9a 0h|3f 9m', l: '3:04 0j|~0j 1l 3m',
  m: '15:0a 0m|~0e 1b 4a 6b 7e|7e 7m|~7e 9b ba db ee|ee em', n: '10:0a 0m|~0e 2b 5a 8b ae|ae am', o: '10:@5a 1c 0g 1k 5m 9k ag 9c',
  p: '10:0a 0s|@5a 1c 0g 1k 5m 9k ag 9c', q: '10:aa as|@5a 1c 0g 1k 5m 9k ag 9c', r: '7:0a 0m|~0e 1c 4a 7a',
  s: '9:~9c 7a 3a 1d 3f 6g 9j 7m 3m 0k', t: '8:45 4j|~4j 5l 8m|0a 8a', u: '10:0a 0i|~0i 2l 5m 8l ai|aa am', v: '10:0a 5m aa',
  w: '14:0a 4m 7c am ea', x: '10:0a am|aa 0m', y: '10:0a 5m|aa 5m 3r 0s', z: '10:0a aa 0m am',
  A: '12:0m 64 cm|2g ag', B: '11:04 0m|04 54|~54 96 a8 9b 5d|0d 5d|~5d ae bh ak 5m|0m 5m', C: '13:~d8 b5 74 26 0d 2k 7m bl di',
  D: '12:04 0m|04 54|~54 a6 cd ak 5m|0m 5m', E: '10:a4 04 0m am|0d 8d', F: '10:a4 04 0m|0d 8d',
  G: '13:~d8 b5 74 26 0d 2k 7m bl di|di de 8e', H: '12:04 0m|c4 cm|0d cd', I: '0:04 0m', J: '8:84 8h|~8h 7l 4m 1l 0i',
  K: '11:04 0m|b4 0f|4b cm', L: '9:04 0m am', M: '14:0m 04 7h e4 em', N: '12:0m 04 cm c4', O: '14:@74 c6 ed ck 7m 2k 0d 26',
  P: '11:04 0m|04 54|~54 a6 b9 ac 5e|0e 5e', Q: '14:@74 c6 ed ck 7m 2k 0d 26|9h en', R: '11:04 0m|04 54|~54 a6 b9 ac 5e|0e 5e|6e bm',
  S: '11:~b7 94 54 18 2b 6d af bi 9m 4m 0j', T: '12:04 c4|64 6m', U: '12:04 0g|~0g 1k 6m bk cg|c4 cg', V: '12:04 6m c4',
  W: '18:04 5m 99 dm i4', X: '12:04 cm|c4 0m', Y: '12:04 6d c4|6d 6m', Z: '12:04 c4 0m cm',
  0: '10:@54 96 ad 9k 5m 1k 0d 16', 1: '6:17 54 5m', 2: '10:~08 15 54 95 a8 9c 6g 0m|0m am', 3: '10:~15 54 95 a8 9b 5c|~5c 9d ah 9l 5m 1l 0j',
  4: '11:8m 84 0g bg', 5: '10:94 14 0c|~0c 2b 5a 9c ag 9k 5m 1l 0k', 6: '10:~95 64 27 0d 0g 1k 5m 9k ag 9c 5b 1d 0g', 7: '10:04 a4 3m',
  8: '10:@54 85 98 8b 5c 2b 18 25|@5c 9d ah 9l 5m 1l 0h 1d', 9: '10:~1l 4m 8j ad aa 96 54 16 0a 1e 5f 9d aa',
  '.': '0:0m', ',': '2:1m 0p', '!': '0:04 0h|0m', '?': '9:~08 15 44 85 98 8b 5e 4h|4m', ':': '0:0d|0m', ';': '2:1d|1m 0p', "'": '0:04 08',
  '"': '4:04 08|44 48',
  '-': '7:0f 7f', _: '10:0o ao', '(': '4:~43 18 0d 1i 4n', ')': '4:~03 38 4d 3i 0n', '/': '8:0o 83', '\\': '8:03 8o', '+': '10:59 5j|0e ae',
  '=': '10:0b ab|0h ah', '*': '8:44 4c|06 8a|86 0a', '#': '11:46 2k|96 7k|0b bb|0g bg', $: '10:~a8 74 34 09 5d ai 7m 3m 0j|51 5p',
  '%': '13:@34 65 68 3b 08 05|c4 1m|@af dh dk am 7k 7h',
  '&': '13:~cm 4b 27 45 66 57 2e 0i 2m 6m 9k cf', '@': '16:@89 b9 ce aj 7j 5g 5b|~c8 bg dj gd d6 84 36 0d 3k 9n', '<': '9:98 0e 9k',
  '>': '9:08 9e 0k',
  '[': '4:43 03 0n 4n', ']': '4:03 43 4n 0n', '{': '6:~63 34 3a 0d|~0d 3g 3m 6n', '}': '6:~03 34 3a 6d|~6d 3g 3m 0n', '|': '0:03 0n',
  '^': '8:0a 44 8a', '`': '3:04 37',
  '~': '10:~0f 2d 5e 8f ad', '°': '6:@34 65 68 3b 08 05', '·': '0:0e', '…': '10:0m|5m|am', '—': '16:0f gf', '–': '11:0f bf',
  '«': '10:5b 0g 5l|ab 5g al', '»': '10:0b 5g 0l|5b ag 5l',
  '¿': '9:~8l 7m 4n 1m 0j 1g 4c 58|54', '¡': '0:09 0m|04', '€': '13:~d8 b5 74 26 1d 2k 7m bl di|0b 8b|0f 8f',
  '£': '10:~96 74 47 4h 2m|0m am|0d 8d', ß: '10:0m 08|~08 15 44 85 88 5c|~5c 9e aj 8m 4m',
  æ: '18:@5a 1c 0g 1k 5m 9k ag 9c|~9g ig hc da ac 9g ak dm hk', ø: '10:@5a 1c 0g 1k 5m 9k ag 9c|am 0a', ł: '6:34 3m|0f 6b',
  đ: '10:a4 am|@5a 1c 0g 1k 5m 9k ag 9c|67 d7', œ: '18:@5a 1c 0g 1k 5m 9k ag 9c|ag ig|~ig hc da ac 9g ak dm hk',
  Æ: '18:0m 84 i4|94 9m im|9d gd|3g 9g', Ø: '14:@74 c6 ed ck 7m 2k 0d 26|d3 1n', Œ: '20:@74 c6 ed ck 7m 2k 0d 26|k4 d4 dm km|dd jd',
  '\uFFFD': '10:14 94 9m 1m 14',
};

/** Accents, drawn over the small letters; over capitals they are moved up. Those of U+0327 and U+0328 hang below. */
export const ACCENT_STROKES: Readonly<Record<string, string>> = {
  '\u0300': '0:37 64', '\u0301': '0:47 74', '\u0302': '0:17 54 97', '\u0303': '0:~07 26 57 88 a6', '\u0304': '0:16 96',
  '\u0306': '0:~14 27 58 87 94',
  '\u0307': '0:56', '\u0308': '0:26|86', '\u030A': '0:@53 75 58 35', '\u030B': '0:37 64|77 a4', '\u030C': '0:14 57 94',
  '\u0327': '0:~5m 6p 5r 3s', '\u0328': '0:~6m 4p 5r 7s',
};
