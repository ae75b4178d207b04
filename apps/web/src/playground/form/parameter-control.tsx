import { useId } from 'preact/hooks';
import type { Json } from '../../api-types.js';
import { Button } from '../../parts/buttons.js';
import { Field, FieldError } from '../../parts/form.js';
import { Icon, type IconName } from '../../parts/icon.js';
import { NO_NUMBER, type ParameterField, randomSeed, shapeOf, valueText } from './parameters.js';

/** A longer hint takes the whole width. */
const WIDE_HINT = 60;

interface ParameterControlProps {
  of: ParameterField;
  /** Empty for a parameter that is not sent. */
  text: string;
  changed: (text: string) => void;
  error: string | undefined;
}

/** The field of one parameter, by the kind of its schema. */
export function ParameterControl(props: ParameterControlProps) {
  const { of, text, changed, error } = props;
  const { kind, hint, note, isRequired, defaultValue, choices } = of;
  if (kind === 'switch') return <Switch {...props} />;
  const usual = defaultValue === undefined ? '' : valueText(defaultValue);
  const isLong = kind === 'json' || kind === 'long';
  const isGroup = kind === 'shapes' || kind === 'segments';
  const chosen = choices.find((choice) => JSON.stringify(choice) === currentOf(of, text));
  return (
    <div class={isLong || isGroup || hint.length > WIDE_HINT ? 'wide' : undefined}>
      <Field
        isGroup={isGroup}
        label={<ParameterName {...of} />}
        note={note}
        aside={kind === 'shapes' && chosen !== undefined ? valueText(chosen) : undefined}
        hint={hint === '' ? undefined : hint}
        error={error}
      >
        {(control) => {
          const field = { ...control, 'aria-required': isRequired || undefined };
          if (isGroup) return <Choices {...props} group={field} />;
          const input = {
            ...field,
            class: kind === 'json' ? 'input mono' : 'input',
            placeholder: usual,
            value: text,
            onInput: ({ currentTarget }: { currentTarget: { value: string } }) => changed(currentTarget.value),
          };
          if (isLong) return <textarea {...input} rows={3} spellcheck={kind === 'long'} />;
          if (kind === 'text') return <input {...input} type="text" autocomplete="off" />;
          if (kind !== 'select') return <NumberControl {...props} input={input} />;
          return (
            <select {...input}>
              <option value="">{usual === '' ? (isRequired ? 'Choose' : 'Not set') : `${usual} (default)`}</option>
              {choices.map((choice) => {
                const value = JSON.stringify(choice);
                return value === JSON.stringify(defaultValue) ? null : (
                  <option key={value} value={value}>
                    {valueText(choice)}
                  </option>
                );
              })}
            </select>
          );
        }}
      </Field>
    </div>
  );
}

/** The JSON of the choice that is in effect: the default until another one is chosen. */
function currentOf({ defaultValue }: ParameterField, text: string): string {
  return text === '' && defaultValue !== undefined ? JSON.stringify(defaultValue) : text;
}

/** The label of a parameter, and its name in the API where that is another word. */
function ParameterName({ label, name }: { label: string; name: string }) {
  const isSame = name === '' || label.toLowerCase().replaceAll(' ', '_') === name.toLowerCase();
  return (
    <>
      {label}
      {isSame ? null : <code class="note">{name}</code>}
    </>
  );
}

/** One of few values, all of which are shown. */
function Choices({ of, text, changed, group }: ParameterControlProps & { group: object & { id: string } }) {
  const { kind, choices } = of;
  const labels = kind === 'shapes' ? shapeLabels(choices) : choices.map(valueText);
  return (
    <div role="radiogroup" class={kind === 'shapes' ? 'shapes' : 'segments fill'} {...group}>
      {choices.map((choice, index) => {
        const value = JSON.stringify(choice);
        const isChecked = value === currentOf(of, text);
        return (
          <label key={value}>
            <input type="radio" name={group.id} value={value} checked={isChecked} onChange={() => changed(value)} />
            {kind === 'shapes' ? <ShapeBox of={choice} among={choices} /> : null}
            {labels[index]}
            {labels[index] === valueText(choice) ? null : (
              <span class="visually-hidden">{`, ${valueText(choice)}`}</span>
            )}
          </label>
        );
      })}
    </div>
  );
}

const MAX_BOX_PX = 28;
const MIN_BOX_PX = 8;

/** A box of a shape; larger sizes have larger boxes. */
function ShapeBox({ of, among }: { of: Json; among: readonly Json[] }) {
  const [width, height] = sidesOf(of);
  const longer = Math.max(width, height);
  const largest = Math.max(...among.flatMap(sidesOf));
  // Ratios have no size. Differences of areas are seen better than those of lengths.
  const scale = largest < 64 ? 1 : Math.sqrt(longer / largest);
  const px = (side: number): string => `${Math.max(MIN_BOX_PX, Math.round((side / longer) * scale * MAX_BOX_PX))}px`;
  return <i style={{ inlineSize: px(width), blockSize: px(height) }} aria-hidden="true" />;
}

function sidesOf(choice: Json): [width: number, height: number] {
  const { width, height } = shapeOf(choice) ?? { width: 1, height: 1 };
  return [width, height];
}

/** Short names of shapes: the side of a square, the ratio of others; the whole size where two would be the same. */
function shapeLabels(choices: readonly Json[]): readonly string[] {
  const short = choices.map((choice) => {
    const [width, height] = sidesOf(choice);
    if (width === height && !valueText(choice).includes(':')) return String(width);
    const divisor = greatestDivisor(width, height);
    const [across, down] = [width / divisor, height / divisor];
    return across > 32 || down > 32 ? valueText(choice) : `${across}:${down}`;
  });
  return new Set(short).size === short.length ? short : choices.map(valueText);
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** A number with buttons for its next values, or with a die for a random one. `input` are the properties of its field. */
function NumberControl({ of, text, changed, input }: ParameterControlProps & { input: object }) {
  const { kind, label, min, max, step, defaultValue } = of;
  const number = (
    <input
      {...input}
      type="number"
      step={step}
      min={min}
      max={max}
      value={text === NO_NUMBER ? undefined : text}
      autocomplete="off"
      onInput={({ currentTarget }) => changed(currentTarget.validity.badInput ? NO_NUMBER : currentTarget.value)}
    />
  );
  if (kind === 'number') return number;
  if (kind === 'seed')
    return (
      <div class="joined">
        {number}
        <Button icon="dices" label="Random seed" onClick={() => changed(randomSeed(of))} />
      </div>
    );
  const current = Number(text === '' ? (defaultValue ?? NaN) : text);
  const stepButton = (icon: IconName, name: string, by: number, last: number | undefined) => (
    <button
      type="button"
      class="button square"
      aria-label={name}
      title={name}
      // At the last value it does nothing, and keeps the focus.
      aria-disabled={current === last || undefined}
      onClick={() => {
        const next = Number.isNaN(current) ? (min ?? 0) : current + by;
        changed(String(Math.min(max ?? next, Math.max(min ?? next, next))));
      }}
    >
      <Icon of={icon} size={14} />
    </button>
  );
  const by = step === 'any' ? 1 : step;
  return (
    <div class="joined stepper">
      {stepButton('minus', `${label}: one less`, -by, min)}
      {number}
      {stepButton('plus', `${label}: one more`, by, max)}
    </div>
  );
}

/** A parameter that is on or off. */
function Switch({ of, text, changed, error }: ParameterControlProps) {
  const id = useId();
  return (
    <div class="field wide">
      <label class="check">
        <input
          type="checkbox"
          checked={text === '' ? of.defaultValue === true : text === 'true'}
          aria-invalid={error === undefined ? undefined : true}
          aria-describedby={error === undefined ? undefined : id}
          onChange={({ currentTarget }) => changed(String(currentTarget.checked))}
        />
        <span>
          <ParameterName {...of} />
          {of.hint === '' ? null : <small>{of.hint}</small>}
        </span>
      </label>
      <FieldError id={id} text={error} />
    </div>
  );
}
