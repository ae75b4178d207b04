import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { failureOf, FailureNote, type ActFailure } from './act-failure.js';

interface ActButtonProps<T> {
  readonly label: string;
  /** The label for screen readers, where the visible one does not say of what. */
  readonly fullLabel?: string;
  readonly title: string;
  readonly consequence: ComponentChildren;
  /** What the button says that does it. */
  readonly doIt: string;
  readonly isDangerous?: boolean;
  /** Fields of the form in the dialog. */
  readonly children?: ComponentChildren;
  readonly act: (form: FormData) => Promise<T>;
  /** What follows once the dialog is gone, such as moving the focus. */
  readonly done: (result: T) => Promise<void>;
  /** Told of a refusal that another sign-in would lift. */
  readonly refused: () => void;
}

/** A button for what changes something: a dialog says what it will do, and takes what it needs. Escape closes it. */
export function ActButton<T>(props: ActButtonProps<T>) {
  const { label, fullLabel = label, isDangerous = false } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const [isOpen, setOpen] = useState(false);
  const open = (): void => {
    setOpen(true);
    requestAnimationFrame(() => dialog.current?.showModal());
  };
  return (
    <>
      <button
        type="button"
        class={`outline small ${isDangerous ? 'danger' : 'secondary'}`}
        aria-label={fullLabel}
        aria-haspopup="dialog"
        onClick={open}
      >
        {label}
      </button>
      <dialog ref={dialog} aria-label={props.title} onClose={() => setOpen(false)}>
        {isOpen ? <ActForm {...props} close={() => dialog.current?.close()} /> : null}
      </dialog>
    </>
  );
}

/** Made anew each time the dialog opens, so that nothing of an earlier time is left in it. */
function ActForm<T>({
  title,
  consequence,
  doIt,
  isDangerous = false,
  children,
  act,
  done,
  refused,
  close,
}: ActButtonProps<T> & { readonly close: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const [failure, setFailure] = useState<ActFailure>();
  const id = useId();
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setFailure(undefined);
    try {
      const result = await act(form);
      close();
      await done(result);
    } catch (error) {
      const failed = failureOf(error);
      setFailure(failed);
      if (failed.needsSignIn) refused();
    } finally {
      setBusy(false);
    }
  };
  return (
    <article>
      <h3>{title}</h3>
      <form id={id} onSubmit={(event) => void submit(event)} autocomplete="off">
        <p>{consequence}</p>
        {children}
      </form>
      <FailureNote failure={failure} />
      <footer>
        <button type="button" class="secondary" onClick={close}>
          Cancel
        </button>
        <button type="submit" form={id} class={isDangerous ? 'danger' : undefined} aria-busy={isBusy} disabled={isBusy}>
          {doIt}
        </button>
      </footer>
    </article>
  );
}
