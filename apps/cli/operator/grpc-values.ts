import { timestampMs, type Timestamp } from '@bufbuild/protobuf/wkt';

// Values of a server's answer, as the commands take them.

export function wordOf<Word extends string>(numbers: Readonly<Record<Word, number>>, number: number): Word {
  return present((Object.keys(numbers) as Word[]).find((word) => numbers[word] === number));
}

export function timeOf(time: Timestamp | undefined): number {
  return timestampMs(present(time));
}

export function present<T>(value: T | undefined): T {
  // No `Failure`: what was asked for was done.
  if (value === undefined)
    throw new Error('The answer of the server lacks fields that this command shows; is it another version?');
  return value;
}
