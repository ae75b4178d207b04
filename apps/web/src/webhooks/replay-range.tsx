import { useId, useRef } from 'preact/hooks';
import { announce } from '../announce.js';
import { textOf } from '../form-text.js';
import { numberText } from '../format.js';
import { change } from '../server.js';
import { useAction } from '../use-action.js';
import { Fault } from '../parts/fault.js';

/** A range is replayed a hundred at a time; so many times at most at once. */
const MAX_STEPS = 50;

interface ReplayRangeProps {
  readonly path: string;
  readonly reload: () => Promise<void>;
}

/** Sends again what was not delivered in a time. */
export function ReplayRange({ path, reload }: ReplayRangeProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const { isBusy, fault, setFault, run } = useAction();
  const id = useId();
  const replay = async (form: HTMLFormElement): Promise<void> => {
    const fields = new FormData(form);
    const [from, to] = [textOf(fields, 'from'), textOf(fields, 'to')];
    if (from === '') return setFault('Say from when on.');
    await run(async () => {
      const replayed = await replayAll(path, {
        created_after: new Date(from).toISOString(),
        ...(to === '' ? {} : { created_before: new Date(to).toISOString() }),
      });
      dialog.current?.close();
      announce(replayed === 1 ? 'One is sent again.' : `${numberText(replayed)} are sent again.`);
      await reload();
    });
  };
  return (
    <>
      <button
        type="button"
        class="outline secondary small"
        aria-haspopup="dialog"
        onClick={() => {
          setFault(undefined);
          dialog.current?.showModal();
        }}
      >
        Send a time again
      </button>
      <dialog ref={dialog} aria-labelledby={`${id}-title`}>
        <article>
          <form
            noValidate
            onSubmit={(event) => {
              event.preventDefault();
              void replay(event.currentTarget);
            }}
          >
            <h3 id={`${id}-title`}>Send again what was not delivered</h3>
            <label>
              From
              <input type="datetime-local" name="from" aria-required="true" />
            </label>
            <label>
              To
              <input type="datetime-local" name="to" aria-describedby={`${id}-to`} />
              <small id={`${id}-to`}>Empty: until now.</small>
            </label>
            <Fault text={fault} />
            <footer>
              <button type="button" class="secondary" onClick={() => dialog.current?.close()}>
                Cancel
              </button>
              <button type="submit" aria-busy={isBusy} disabled={isBusy}>
                Send again
              </button>
            </footer>
          </form>
        </article>
      </dialog>
    </>
  );
}

async function replayAll(path: string, range: object): Promise<number> {
  let replayed = 0;
  let cursor: string | undefined;
  for (let steps = 0; steps < MAX_STEPS; steps += 1) {
    const answer: { readonly replayed: number; readonly next_cursor?: string } = await change(`${path}/replay`, {
      ...range,
      ...(cursor === undefined ? {} : { cursor }),
    });
    replayed += answer.replayed;
    cursor = answer.next_cursor;
    if (cursor === undefined) break;
  }
  return replayed;
}
