import { useEffect, useId, useState } from 'preact/hooks';
import { sentenceOf } from '../server.js';
import { useAction } from '../use-data.js';
import { asked, type Question } from './ask.js';
import { Button, SubmitButton } from './buttons.js';
import { Form } from './form.js';
import { Dialog } from './overlays.js';
import { announce } from './toasts.js';

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
    const isOpen = (): boolean => asked.peek() === question;
    try {
      const result = await question.act(form);
      if (isOpen()) close();
      await question.done?.(result);
    } catch (error) {
      if (isOpen()) throw error;
      // The person has closed the dialog, which may ask something else by now.
      announce(`${question.title} ${sentenceOf(error)}`, 'circle-alert');
    }
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
