import { EXIT, Failure } from '../exit.js';
import type { CliIo } from '../io.js';

const MAX_PIPED_CHARACTERS = 4_096;
const ENTER = new Set(['\r', '\n', '\u0004']);
const RUB_OUT = new Set(['\b', '\u007f']);
const CTRL_C = '\u0003';

/** One line of stdin: asked for without echo on a terminal, read to its end from a pipe. */
export async function readSecret(io: CliIo, question: string): Promise<string> {
  return io.stdin.isTTY ? ask(io, question) : readPipe(io);
}

async function readPipe({ stdin }: CliIo): Promise<string> {
  let text = '';
  for await (const chunk of stdin.setEncoding('utf8')) {
    text += String(chunk);
    if (text.length > MAX_PIPED_CHARACTERS) throw new Failure('What was piped in is too long.', EXIT.usage);
  }
  return text.replace(/\r?\n$/, '');
}

function ask({ stdin, stderr }: CliIo, question: string): Promise<string> {
  stderr.write(question);
  stdin.setRawMode?.(true);
  stdin.setEncoding('utf8').resume();
  return new Promise((resolve, reject) => {
    let text = '';
    const finish = (end: () => void) => {
      stdin.off('data', onData);
      stdin.setRawMode?.(false);
      stdin.pause();
      stderr.write('\n');
      end();
    };
    const onData = (chunk: string) => {
      for (const character of chunk) {
        if (character === CTRL_C)
          return finish(() => {
            reject(new Failure('Nothing was stored.', EXIT.cancelled));
          });
        if (ENTER.has(character))
          return finish(() => {
            resolve(text);
          });
        text = RUB_OUT.has(character) ? text.slice(0, -1) : text + character;
      }
    };
    stdin.on('data', onData);
  });
}
