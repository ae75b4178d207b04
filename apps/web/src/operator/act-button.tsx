import type { ComponentChildren } from 'preact';
import { useId, useRef, useState } from 'preact/hooks';
import { Card } from '../parts/parts.js';
import { path } from '../router.js';
import type { Overview } from '../server-types.js';
import { change, RequestFailed, sentenceOf } from '../server.js';
import type { Generation } from './server-types.js';

/** Leads through another sign-in, and back to this page. */
function SignInWithPasskey() {
  return (
    <form method="post" action={`/sign-out?return=${encodeURIComponent(path.value)}`}>
      <button type="submit" class="outline small">
        Sign in again with a passkey
      </button>
    </form>
  );
}

/** In place of a page of the area, for an operator who has signed in another way. */
export function PasskeyNeeded({ overview: { person } }: { readonly overview: Overview }) {
  return (
    <Card id="passkey-needed" title="A passkey is needed">
      {person.has_passkey ? (
        <>
          <p>You are an operator, and have signed in another way. What operators see takes a sign-in with a passkey.</p>
          <SignInWithPasskey />
        </>
      ) : (
        <p>
          You are an operator, and have no passkey any more. Have another operator demote you with{' '}
          <code>darkroom people demote</code>, add a passkey under Sign-in, and be promoted again.
        </p>
      )}
    </Card>
  );
}

/** Above a page of the area, while it can be read and nothing can be changed. */
export function RecentSignInNeeded() {
  return (
    <div class="notice">
      <p>You signed in more than 15 minutes ago. To change anything here, sign in again.</p>
      <SignInWithPasskey />
    </div>
  );
}

/** Refusals that another sign-in lifts. */
const SIGN_IN_CODES: readonly (string | undefined)[] = ['RECENT_SIGN_IN_REQUIRED', 'PASSKEY_SIGN_IN_REQUIRED'];

/** Why an act did not happen. */
export interface ActFailure {
  readonly sentence: string;
  readonly needsSignIn: boolean;
}

export function failureOf(error: unknown): ActFailure {
  return {
    sentence: sentenceOf(error),
    needsSignIn: error instanceof RequestFailed && SIGN_IN_CODES.includes(error.code),
  };
}

/** Says why, and leads to another sign-in where that helps. */
export function FailureNote({ failure }: { readonly failure: ActFailure | undefined }) {
  if (failure === undefined) return null;
  return (
    <div class="fault" role="alert">
      <p>{failure.sentence}</p>
      {failure.needsSignIn ? <SignInWithPasskey /> : null}
    </div>
  );
}

interface ActButtonProps<T> {
  readonly label: string;
  /** The label for screen readers, if the visible one does not name the object. */
  readonly fullLabel?: string;
  readonly title: string;
  readonly consequence: ComponentChildren;
  /** The label of the button that performs the act. */
  readonly doIt: string;
  readonly isDangerous?: boolean;
  /** Fields of the form in the dialog. */
  readonly children?: ComponentChildren;
  readonly act: (form: FormData) => Promise<T>;
  /** Called once the dialog is closed, for example to move the focus. */
  readonly done: (result: T) => Promise<void>;
  /** Called after a refusal that another sign-in would lift. */
  readonly refused: () => void;
}

/** A button for a change: a dialog explains the effect and asks for the input. Escape closes it. */
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

/** Created again each time the dialog opens, so that it contains nothing from an earlier time. */
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

interface CancelButtonProps {
  readonly generation: Generation;
  readonly done: (sentence: string) => Promise<void>;
  readonly refused: () => void;
}

/** Cancels a generation, as its client could. */
export function CancelButton({
  generation: { generation_id: id, model_key: model },
  done,
  refused,
}: CancelButtonProps) {
  return (
    <ActButton
      label="Cancel"
      fullLabel={`Cancel the generation ${id}`}
      title="Cancel this generation?"
      consequence={`It is of the model ${model}. If it waits, it ends at once and costs nothing. If it runs, it ends when its provider stops, and what was delivered is charged.`}
      doIt="End it"
      isDangerous
      act={() => change<{ readonly generation: Generation }>(`/operator/generations/${id}/cancel`)}
      done={({ generation: { status } }) => done(sentenceOfCancelButton(status))}
      refused={refused}
    />
  );
}

function sentenceOfCancelButton(status: Generation['status']): string {
  if (status === 'cancelled') return 'The generation is cancelled.';
  return status === 'queued' || status === 'running'
    ? 'The generation is asked to stop.'
    : `The generation had ${status} before; nothing was changed.`;
}
