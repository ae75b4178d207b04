import { useState } from 'preact/hooks';
import { numberText, spanText } from '../../format.js';
import { Picture } from '../../media/picture.js';
import { Button } from '../../parts/buttons.js';
import { type ControlProps, Field } from '../../parts/form.js';
import { Icon } from '../../parts/icon.js';
import { Attention } from '../../parts/parts.js';
import { MenuButton, type MenuItem } from '../../parts/overlays.js';
import { priceText } from '../../models/use-models.js';
import { changeQuery, place } from '../../places.js';
import { ParameterControl } from './parameter-control.js';
import { pointerTo, textsOf } from './parameters.js';
import { ReferenceList } from './references.js';
import type { Playground } from '../use-playground.js';

/** The fields of a request: the model, the prompts, the model's parameters, and files. */
export function RequestForm({ play }: { play: Playground }) {
  const { model, fields, setup, setText, references, faultAt } = play;
  return (
    <>
      <ModelPicker play={play} />
      <Prompts play={play} />
      {fields.length === 0 ? null : (
        <div class="parameters">
          {fields.map((field) => (
            // Another model's parameter of this name is another field.
            <ParameterControl
              key={`${model.model_key} ${field.name}`}
              of={field}
              text={setup.texts[field.name] ?? ''}
              changed={(text) => setText(field.name, text)}
              error={faultAt(pointerTo(field.name))}
            />
          ))}
        </div>
      )}
      <ReferenceList model={model} references={references} faultAt={faultAt} />
    </>
  );
}

/** The model with its price, and a menu of the others. Models for tests appear on request. */
function ModelPicker({ play: { models, model, change } }: { play: Playground }) {
  const [hasTests, setTests] = useState(false);
  const listed = models.filter((one) => !one.is_test || hasTests || one === model);
  const items = listed.map((one): MenuItem => ({
    text: one.display_name,
    note: priceText(one),
    isChecked: one === model,
    act: () => {
      change({ model_key: one.model_key });
      changeQuery({ model: one.model_key });
    },
  }));
  if (models.length > listed.length)
    items.push({ text: 'Show test models', isStaying: true, act: () => setTests(true) });
  const { display_name: name, description, sample, usual_ms: usual } = model;
  const { model: asked } = place.value.query;
  return (
    <div class="stack-s">
      {asked === undefined || models.some(({ model_key: key }) => key === asked) ? null : (
        <Attention>{`There is no model “${asked}”.`}</Attention>
      )}
      <MenuButton
        label={`Model: ${name}. Change`}
        class="model-pick"
        items={items}
        button={
          <>
            {sample === null ? null : (
              <Picture
                output={sample.output}
                thumbnails={sample.thumbnails ?? undefined}
                alt=""
                shownWidth={64}
                isFirst
              />
            )}
            <span class="grow">
              <strong class="cut">{name}</strong>
              <span class="cut">
                {priceText(model)}
                {usual === null ? '' : ` · usually ${spanText(usual)}`}
              </span>
            </span>
            <Icon of="chevron-down" />
          </>
        }
      />
      {description === undefined ? null : (
        <p class="tiny muted model-note" title={description}>
          {description}
        </p>
      )}
    </div>
  );
}

/** The prompt with examples, and the negative prompt once somebody wants one. */
function Prompts({ play }: { play: Playground }) {
  const { model, setup, change, replace, fields, faultAt } = play;
  const { prompt, negative_prompt: negative } = setup;
  const { prompt_rule: rule, max_prompt_characters: most, limits, examples } = model;
  const [isWanted, setWanted] = useState(false);
  const hasNegative = limits.negative_prompt && (isWanted || negative !== '');
  const length = [...prompt].length;
  const area = (name: 'prompt' | 'negative_prompt', more: object) => (control: ControlProps) => (
    <textarea
      {...control}
      class="input"
      value={setup[name]}
      onInput={({ currentTarget }) => change({ [name]: currentTarget.value })}
      {...more}
    />
  );
  return (
    <div class="stack-s">
      {rule === 'none' ? null : (
        <Field
          label="Prompt"
          note={rule === 'optional' ? rule : undefined}
          error={length > most ? `At most ${numberText(most)} characters.` : faultAt('/prompt')}
        >
          {area('prompt', { 'rows': 4, 'aria-required': rule === 'required' || undefined })}
        </Field>
      )}
      <div class="row wrap prompt-tools">
        {limits.negative_prompt && !hasNegative ? (
          <Button isSmall kind="quiet" icon="plus" onClick={() => setWanted(true)}>
            Negative prompt
          </Button>
        ) : null}
        {examples.length === 0 ? null : (
          <MenuButton
            label="Examples"
            class="button small quiet"
            items={examples.map(({ title, prompt: text, parameters }) => ({
              text: title ?? text ?? 'Example',
              act: () => replace({ ...setup, prompt: text ?? prompt, texts: textsOf(fields, parameters) }),
            }))}
            button={[<Icon key="icon" of="zap" size={14} />, 'Examples']}
          />
        )}
        {rule === 'none' ? null : (
          <span class="tiny faint num push">{`${numberText(length)} / ${numberText(most)}`}</span>
        )}
      </div>
      {hasNegative ? (
        <Field label="Negative prompt" note="what to leave out" error={faultAt('/negative_prompt')}>
          {/* The field that a person has just asked for takes the focus. */}
          {area('negative_prompt', { rows: 2, ...(isWanted && negative === '' ? { ref: focusOnce } : {}) })}
        </Field>
      ) : null}
    </div>
  );
}

function focusOnce(field: HTMLTextAreaElement | null): void {
  field?.focus();
}
