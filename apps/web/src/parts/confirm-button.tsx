import { useId, useRef, useState } from 'preact/hooks';
import { sentenceOf } from '../server.js';

interface ConfirmButtonProps {
  readonly label: string;
  /** The label for screen readers, where the visible one does not say of what. */
  readonly fullLabel?: string;
  readonly question: string;
  readonly consequence: string;
  /** What the button says that does it. */
  readonly doIt: string;
  readonly action: () => Promise<unknown>;
  /** What follows once the dialog is gone, such as moving the focus. */
  readonly done: () => Promise<void>;
}

/** A button for what cannot be undone: it asks first. The dialog keeps the focus, and Escape closes it. */
export function ConfirmButton({
  label,
  fullLabel = label,
  question,
  consequence,
  doIt,
  action,
  done,
}: ConfirmButtonProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [isBusy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const id = useId();
  const run = async (): Promise<void> => {
    setBusy(true);
    setFault(undefined);
    try {
      await action();
    } catch (error) {
      return setFault(sentenceOf(error));
    } finally {
      setBusy(false);
    }
    dialog.current?.close();
    await done();
  };
  return (
    <>
      <button
        type="button"
        class="outline small danger"
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
          {fault === undefined ? null : (
            <p class="fault" role="alert">
              {fault}
            </p>
          )}
          <footer>
            <button type="button" class="secondary" onClick={() => dialog.current?.close()}>
              Cancel
            </button>
            <button type="button" class="danger" aria-busy={isBusy} disabled={isBusy} onClick={() => void run()}>
              {doIt}
            </button>
          </footer>
        </article>
      </dialog>
    </>
  );
}
