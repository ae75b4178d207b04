import type { ComponentChildren } from 'preact';
import type { Data } from '../use-data.js';

interface LoadedProps<T> {
  readonly data: Data<T>;
  /** What is being read, as in "Loading keys…". */
  readonly what: string;
  readonly children: (value: T) => ComponentChildren;
}

/** What was read, or that it is being read, or why it could not be read, with a button to try again. */
export function Loaded<T>({ data: { value, fault, reload }, what, children }: LoadedProps<T>) {
  return (
    <>
      {fault === undefined ? null : (
        <div class="fault" role="alert">
          <p>{fault}</p>
          <button type="button" class="outline secondary small" onClick={() => void reload()}>
            Try again
          </button>
        </div>
      )}
      {value !== undefined ? (
        children(value)
      ) : fault === undefined ? (
        <p class="loading" aria-busy="true">{`Loading ${what}…`}</p>
      ) : null}
    </>
  );
}
