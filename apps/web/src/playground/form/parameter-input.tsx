import { useId } from 'preact/hooks';
import type { Json } from '../../api-types.js';
import { FieldFrame, type ControlAttributes } from './field-frame.js';
import type { ParameterField } from './parameter-field.js';

interface ParameterInputProps {
  readonly field: ParameterField;
  readonly text: string;
  /** Why its value was not taken. */
  readonly fault: string | undefined;
  readonly changed: (text: string) => void;
}

/** One parameter of a model, with what is said of it and what is wrong with it. */
export function ParameterInput({ field, text, fault, changed }: ParameterInputProps) {
  const id = useId();
  const { label, note, isRequired } = field;
  return (
    <FieldFrame id={id} label={label} note={note} fault={fault} isRequired={isRequired}>
      {(about) => <Control field={field} text={text} changed={changed} about={about} />}
    </FieldFrame>
  );
}

/** What stands for text that the browser does not take for a number, and does not tell. */
const NO_NUMBER = 'NaN';

interface ControlProps extends Pick<ParameterInputProps, 'field' | 'text' | 'changed'> {
  readonly about: ControlAttributes;
}

function Control({ field: { field, defaultValue, isRequired }, text, changed, about }: ControlProps) {
  const usual = defaultValue === undefined ? '' : shown(defaultValue);
  switch (field.kind) {
    case 'choice':
    case 'switch': {
      const choices: readonly Json[] = field.kind === 'choice' ? field.choices : [true, false];
      return (
        <select {...about} value={text} onChange={({ currentTarget }) => changed(currentTarget.value)}>
          <option value="">{usual === '' ? (isRequired ? 'Choose' : 'Not set') : `${usual} (default)`}</option>
          {choices
            .filter((choice) => JSON.stringify(choice) !== JSON.stringify(defaultValue))
            .map((choice) => (
              <option key={JSON.stringify(choice)} value={JSON.stringify(choice)}>
                {shown(choice)}
              </option>
            ))}
        </select>
      );
    }
    case 'number':
      return (
        <input
          {...about}
          type="number"
          step={field.step}
          min={field.min}
          max={field.max}
          value={text}
          placeholder={usual}
          autocomplete="off"
          onInput={({ currentTarget }) => changed(currentTarget.validity.badInput ? NO_NUMBER : currentTarget.value)}
        />
      );
    case 'text':
    case 'json':
      return field.kind === 'text' && !field.isLong ? (
        <input
          {...about}
          type="text"
          value={text}
          placeholder={usual}
          autocomplete="off"
          onInput={({ currentTarget }) => changed(currentTarget.value)}
        />
      ) : (
        <textarea
          {...about}
          rows={field.kind === 'json' ? 4 : 3}
          class={field.kind === 'json' ? 'code' : undefined}
          spellcheck={field.kind === 'text'}
          value={text}
          placeholder={usual}
          onInput={({ currentTarget }) => changed(currentTarget.value)}
        />
      );
    default:
      return null;
  }
}

function shown(value: Json): string {
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
