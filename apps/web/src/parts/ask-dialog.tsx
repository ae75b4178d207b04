import type { ComponentChildren } from 'preact';
import { useEffect, useId, useState } from 'preact/hooks';
import { codeOf } from '../server.js';
import { reloadOverview } from '../session.js';
import { useAction } from '../use-data.js';
import { asked, type Question } from './ask.js';
import { Button, SubmitButton } from './buttons.js';
import { Form } from './form.js';
import { Dialog } from './overlays.js';
import { Fault } from './parts.js';

/** Refusals that another sign-in lifts. */
const SIGN_IN_CODES = ['RECENT_SIGN_IN_REQUIRED', 'PASSKEY_SIGN_IN_REQUIRED'];

/** The dialog of `ask`; once on the page. It outlives a question, so that what is under way is not done twice. */
export function AskDialog() {
  const id = useId();
  const doing = useAction();
  const [label, setLabel] = useState('');
  const question = asked.value;
  const { setFault } = doing;
  const close = (): void => {
    asked.value = undefined;
  };
  useEffect(() => {
    setFault(undefined);
    if (question !== undefined) setLabel(textOf(question, new FormData()));
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [question]);
  const submit = async (form: FormData): Promise<void> => {
    if (question === undefined) return;
    const result = await question.act(form).catch((error: unknown) => {
      // A sign-in may have become too old since the page was opened, which the page then says.
      if (SIGN_IN_CODES.includes(codeOf(error))) void reloadOverview();
      throw error;
    });
    if (asked.peek() === question) close();
    await question.done?.(result);
  };
  return (
    <Dialog
      isOpen={question !== undefined}
      close={close}
      labelledBy={id}
      class={question?.isWide === true ? 'dialog wide' : 'dialog'}
    >
      {question === undefined ? null : (
        <Form
          doing={doing}
          class="stack-s"
          submit={submit}
          changed={(form) => setLabel(textOf(question, form))}
          note={SIGN_IN_CODES.includes(codeOf(doing.error)) ? <SignInFault text={doing.fault} /> : undefined}
          footer={
            <footer>
              <Button onClick={close}>Cancel</Button>
              <SubmitButton
                kind={question.isHarmless === true ? 'primary' : 'destructive'}
                isBusy={doing.isBusy}
                busyText={question.busyText}
              >
                {label}
              </SubmitButton>
            </footer>
          }
        >
          <h2 id={id}>{question.title}</h2>
          {question.text === undefined ? null : <p>{question.text}</p>}
          {question.fields}
        </Form>
      )}
    </Dialog>
  );
}

function textOf({ doIt }: Question<never>, form: FormData): string {
  return typeof doIt === 'string' ? doIt : doIt(form);
}

/** Leads through another sign-in, and back to this page. */
function SignInFault({ text }: { text: string | undefined }) {
  return (
    <Fault text={text}>
      <SignInButton>Sign in again</SignInButton>
    </Fault>
  );
}

export function SignInButton({ children }: { children: ComponentChildren }) {
  const here = location.pathname + location.search;
  return (
    // The form of a dialog must not contain another.
    <button
      type="button"
      class="button small"
      onClick={() => {
        const form = document.createElement('form');
        Object.assign(form, { method: 'post', action: `/sign-out?return=${encodeURIComponent(here)}` });
        document.body.append(form);
        form.submit();
      }}
    >
      {children}
    </button>
  );
}
