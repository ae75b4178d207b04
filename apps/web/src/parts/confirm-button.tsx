import { useId, useRef, useState } from 'preact/hooks';
import { sentenceOf } from '../server.js';
import { Fault } from './fault.js';

interface ConfirmButtonProps<T> {
  readonly label: string;
  /** The label for screen readers, where the visible one does not say of what. */
  readonly fullLabel?: string;
  readonly question: string;
  readonly consequence: string;
  /** Whether nothing is lost by it. */
  readonly isHarmless?: boolean;
  /** What the button says that does it. */
  readonly doIt: string;
  readonly action: () => Promise<T>;
  /** What follows once the dialog is gone, such as moving the focus. */
  readonly done: (result: T) => Promise<void>;
}

/** A button for what has a consequence: it asks first. The dialog keeps the focus, and Escape closes it. */
export function ConfirmButton<T>({
  label,
  fullLabel = label,
  question,
  consequence,
  isHarmless = false,
  doIt,
  action,
  done,
}: ConfirmButtonProps<T>) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const id = useId();
  const run = async (): Promise<void> => {
    setBusy(true);
    setFault(undefined);
    let result: T;
    try {
      result = await action();
    } catch (error) {
      return setFault(sentenceOf(error));
    } finally {
      setBusy(false);
    }
    dialog.current?.close();
    await done(result);
  };
  return (
    <>
      <button
        type="button"
        class={isHarmless ? 'outline secondary small' : 'outline small danger'}
        aria-label={fullLabel}
        aria-haspopup="dialog"
        onClick={() => {
          setFault(undefined);
          dialog.current?.showModal();
        }}
      >
        {label}
      </button>
      <dialog ref={dialog} aria-labelledby={`${id}-question`} aria-describedby={`${id}-consequence`}>
        <article>
          <h3 id={`${id}-question`}>{question}</h3>
          <p id={`${id}-consequence`}>{consequence}</p>
          <Fault text={fault} />
          <footer>
            <button type="button" class="secondary" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button
              type="button"
              class={isHarmless ? '' : 'danger'}
              aria-busy={isBusy}
              disabled={isBusy}
              onClick={() => void run()}
            >
              {doIt}
            </button>
          </footer>
        </article>
      </dialog>
    </>
  );
}
