import { type ComponentChildren, createContext, type InputHTMLAttributes } from 'preact';
import { useContext, useId, useRef } from 'preact/hooks';
import { atField, Explained, pointerOf } from '../server.js';
import { type Action, focusOnFaulty } from '../use-data.js';
import { Icon } from './icon.js';
import { ActionFault } from './parts.js';

/** The state that a form shares with its fields: its action, and the pointers of fields that show their own refusal. */
interface FormState {
  readonly doing: Action;
  readonly pointers: Set<string>;
}

const FormContext = createContext<FormState | undefined>(undefined);

interface FormProps {
  /** The state of `submit`: what the server refuses is said at the field that it names, or below the fields. */
  doing: Action;
  /** May throw: that is the fault of `doing`. */
  submit: (form: FormData, element: HTMLFormElement) => Promise<unknown>;
  class?: string;
  /** Called for each input, with the form. */
  changed?: (form: FormData) => void;
  /** Called for the Escape key. */
  escape?: () => void;
  /** Below the fields and the fault: the buttons. */
  footer: ComponentChildren;
  children?: ComponentChildren;
}

/** A form that is sent once at a time and stays as it is, with its errors, until it has worked. */
export function Form({ doing, submit, class: look = 'form', changed, escape, footer, children }: FormProps) {
  const pointers = useRef(new Set<string>()).current;
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    if (!(await doing.run(async () => void (await submit(new FormData(form), form))))) focusOnFaulty(form);
  };
  // Shows an error that the browser finds at its field, as Form does for the server's errors.
  const invalid = (event: Event): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const control = event.target as HTMLInputElement;
    if (form.querySelector(':is(input, select, textarea):invalid') !== control) return;
    const error = new Explained(sentenceFor(control), control.dataset['pointer']);
    void doing.run(() => Promise.reject(error)).then(() => focusOnFaulty(form));
  };
  return (
    <FormContext.Provider value={{ doing, pointers }}>
      {/* The keys of its fields arrive here. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <form
        class={look}
        autocomplete="off"
        onInput={({ currentTarget }) => {
          doing.setFault(undefined);
          changed?.(new FormData(currentTarget));
        }}
        onKeyDown={({ key }) => {
          if (key === 'Escape') escape?.();
        }}
        onInvalidCapture={invalid}
        onSubmit={(event) => void send(event)}
      >
        {children}
        <FormFault />
        {footer}
      </form>
    </FormContext.Provider>
  );
}

function sentenceFor({ validity, title, validationMessage }: HTMLInputElement): string {
  if (validity.valueMissing) return 'Fill in this field.';
  return title === '' ? validationMessage : `Enter ${title.charAt(0).toLowerCase()}${title.slice(1)}.`;
}

/** The fault of the form, unless one of its fields shows it. */
function FormFault() {
  const form = useContext(FormContext);
  return form === undefined || form.pointers.has(pointerOf(form.doing.error)) ? null : (
    <ActionFault doing={form.doing} />
  );
}

/** The refusal of the form around, if it is about this field. */
function useRefusal(pointer: string | undefined): string | undefined {
  const form = useContext(FormContext);
  if (form === undefined || pointer === undefined) return undefined;
  form.pointers.add(pointer);
  return pointerOf(form.doing.error) === pointer ? atField(form.doing.fault ?? '', pointer) : undefined;
}

/** Connects a control with its label, hint and error. */
export interface ControlProps {
  readonly 'id': string;
  readonly 'aria-labelledby': string | undefined;
  readonly 'aria-invalid': boolean | undefined;
  readonly 'aria-describedby': string | undefined;
  readonly 'data-pointer': string | undefined;
}

interface LabelProps {
  label: ComponentChildren;
  /** Beside the label, such as "optional". */
  note?: ComponentChildren;
  /** At the right of the label, such as a count of characters. */
  aside?: ComponentChildren;
  hint?: ComponentChildren;
  error?: string | undefined;
  /** The JSON Pointer by which the server names the field. */
  pointer?: string | undefined;
}

interface FieldProps extends LabelProps {
  /** Whether it is a group of controls with labels of their own. */
  isGroup?: boolean;
  children: (control: ControlProps) => ComponentChildren;
}

/** A control with its label above, and its hint or its error below. */
export function Field(props: FieldProps) {
  const { label, note, aside, hint, pointer, isGroup = false, children } = props;
  const refusal = useRefusal(pointer);
  const error = props.error ?? refusal;
  const id = useId();
  const described = [hint === undefined ? '' : `${id}-hint`, error === undefined ? '' : `${id}-error`].join(' ').trim();
  const Label = isGroup ? 'p' : 'label';
  return (
    <div class="field">
      <Label class="label" {...(isGroup ? { id: `${id}-label` } : { for: id })}>
        {label}
        {note === undefined ? null : <span class="note">{note}</span>}
        {aside === undefined ? null : <span class="push">{aside}</span>}
      </Label>
      {children({
        id,
        'aria-labelledby': isGroup ? `${id}-label` : undefined,
        'aria-invalid': error === undefined ? undefined : true,
        'aria-describedby': described || undefined,
        'data-pointer': pointer,
      })}
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <FieldError id={`${id}-error`} text={error} />
    </div>
  );
}

/** The error of a field; nothing without a text. */
export function FieldError({ id, text }: { id?: string; text: string | undefined }) {
  if (text === undefined || text === '') return null;
  return (
    <p class="error" id={id}>
      <Icon of="circle-alert" size={14} />
      {text}
    </p>
  );
}

type TextFieldProps = LabelProps & Omit<InputHTMLAttributes, 'label' | 'role'> & { name: string };

/** A line of text. Its JSON Pointer is its name unless another is given. */
export function TextField({ label, note, aside, hint, error, pointer, ...input }: TextFieldProps) {
  return (
    <Field {...{ label, note, aside, hint, error }} pointer={pointer ?? `/${input.name}`}>
      {(control) => <input class="input" {...control} {...(input as object)} />}
    </Field>
  );
}

interface SelectFieldProps extends LabelProps {
  name: string;
  options: readonly (readonly [value: string, text: string])[];
  /** The value at first. */
  chosen?: string | undefined;
  changed?: (value: string) => void;
}

/** One of some values. */
export function SelectField({ name, options, chosen, changed, pointer = `/${name}`, ...field }: SelectFieldProps) {
  return (
    <Field {...field} pointer={pointer}>
      {(control) => (
        <select {...control} class="input" name={name} onChange={({ currentTarget }) => changed?.(currentTarget.value)}>
          {options.map(([value, text]) => (
            <option key={value} value={value} selected={value === chosen}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface ChecksFieldProps {
  legend: string;
  name: string;
  pointer: string;
  /** With the text of each, and what is below it. */
  options: readonly { value: string; text: ComponentChildren; note: ComponentChildren }[];
  /** The values that are ticked at first. */
  chosen: readonly string[];
  class?: string;
}

/** Any of some values. */
export function ChecksField({ legend, name, pointer, options, chosen, class: look }: ChecksFieldProps) {
  const error = useRefusal(pointer);
  const id = useId();
  return (
    <fieldset class="field">
      <legend class="label">{legend}</legend>
      <div class={look}>
        {options.map(({ value, text, note }) => (
          <label key={value} class="check">
            <input
              type="checkbox"
              name={name}
              value={value}
              defaultChecked={chosen.includes(value)}
              aria-invalid={error === undefined ? undefined : true}
              aria-describedby={error === undefined ? undefined : id}
            />
            <span>
              {text}
              <small>{note}</small>
            </span>
          </label>
        ))}
      </div>
      <FieldError id={id} text={error} />
    </fieldset>
  );
}
