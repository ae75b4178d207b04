import { useRef } from 'preact/hooks';
import { textOf } from '../form-text.js';
import { useAction } from '../use-action.js';
import { Fault } from '../parts/fault.js';

interface NameFormProps {
  readonly label: string;
  readonly name: string;
  readonly placeholder?: string;
  /** What the button says. */
  readonly doIt: string;
  readonly submit: (name: string) => Promise<void>;
}

/** Asks for a name, and says why it was not taken. */
export function NameForm({ label, name, placeholder = '', doIt, submit }: NameFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, fault, run } = useAction();
  const send = (): Promise<void> =>
    run(async () => {
      await submit(textOf(new FormData(form.current ?? undefined), 'name').trim());
      form.current?.reset();
    });
  return (
    <form
      class="name-form"
      ref={form}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label>
        {label}
        <input type="text" name="name" defaultValue={name} placeholder={placeholder} required maxLength={100} />
      </label>
      <Fault text={fault} />
      <button type="submit" class="secondary small" aria-busy={isBusy} disabled={isBusy}>
        {doIt}
      </button>
    </form>
  );
}
