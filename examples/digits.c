// SPDX-License-Identifier: GPL-2.0-only
/*
 * Data-parallel training: softmax regression on the UCI handwritten digits.
 *
 *	collective-run -n 4 digits ./digits.csv
 *
 * Every rank reads all 1,797 images of 8x8 pixels and shuffles them the same way.  Each rank
 * computes the gradient of its share of a mini-batch.  One coll_allreduce() sums the shares in
 * place, and every rank makes the same step from the same sum.  So the result does not depend
 * on the number of ranks, except for the rounding of sums in another order, and all ranks end
 * with the same bits.
 *
 * Features are the pixels and the products of neighbouring pixels (strokes and edges), which a
 * linear model cannot form by itself.  The gradient is 1,770 numbers of 64 bits, 14 KB: small
 * enough to be sent at once (COLLECTIVE_EAGER_LIMIT).
 *
 * Rank 0 then trains alone and compares.  Exit status 0: all results are as expected.
 */
#include <errno.h>
#include <float.h>
#include <getopt.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <collective.h>

#define SIDE		8
#define PIXELS		(SIDE * SIDE)
#define PRODUCTS	(2 * SIDE * (SIDE - 1))
#define FEATURES	(1 + PIXELS + PRODUCTS)
#define CLASSES		10
#define WEIGHTS		(CLASSES * FEATURES)
#define PIXEL_MAX	16

#define BATCH		64
#define STEP		1.0
#define DECAY		0.0001
#define ACCURACY_MIN	0.94
#define TOLERANCE	0.000000001	/* largest difference of a weight between 1 and n ranks */
#define SEED		20240229

struct image {
	double feature[FEATURES];
	int label;
};

/**
 * struct data - images, shuffled
 * @images: images; those for training come first
 * @n: number of images
 * @ntrain: number of images for training, four fifths
 */
struct data {
	struct image *images;
	size_t n;
	size_t ntrain;
};

/**
 * struct trainer - one training run
 * @comm: communicator; NULL: train alone
 * @rank: rank of this process
 * @nranks: number of ranks that share a mini-batch
 * @data: images, the same on every rank
 * @weights: model, a row of FEATURES for each class
 * @gradient: gradient of the mini-batch
 * @spent: sums of this epoch, which train() adds up over all ranks
 */
struct trainer {
	struct coll_comm *comm;
	int rank;
	int nranks;
	const struct data *data;
	double *weights;
	double *gradient;
	struct spent {
		double loss;
		double compute;		/* seconds */
		double collectives;
	} spent;
};

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static void set_features(struct image *image, const double *pixel)
{
	double *to = image->feature;
	int row, column;

	*to++ = 1;
	for (row = 0; row < SIDE; row++)
		for (column = 0; column < SIDE; column++)
			*to++ = pixel[row * SIDE + column];
	for (row = 0; row < SIDE; row++)
		for (column = 0; column + 1 < SIDE; column++)
			*to++ = pixel[row * SIDE + column] *
				pixel[row * SIDE + column + 1];
	for (row = 0; row + 1 < SIDE; row++)
		for (column = 0; column < SIDE; column++)
			*to++ = pixel[row * SIDE + column] *
				pixel[(row + 1) * SIDE + column];
}

/* Parse "p,p,...,p,label": 64 pixels from 0 to 16, and the digit that they show. */
static int parse(const char *line, struct image *image)
{
	double pixel[PIXELS], label;
	char *end;
	int i;

	for (i = 0; i < PIXELS; i++) {
		pixel[i] = strtod(line, &end);
		if (end == line || *end != ',')
			return -EINVAL;
		if (!(pixel[i] >= 0 && pixel[i] <= PIXEL_MAX))
			return -EINVAL;
		pixel[i] /= PIXEL_MAX;
		line = end + 1;
	}
	label = strtod(line, &end);
	if (end == line || *end == ',')
		return -EINVAL;
	if (!(label >= 0 && label < CLASSES) || label != (int)label)
		return -EINVAL;
	image->label = label;
	set_features(image, pixel);
	return 0;
}

static int read_data(const char *path, struct data *data)
{
	char line[1024];
	size_t room = 0;
	FILE *file;
	int err = 0;

	memset(data, 0, sizeof(*data));
	file = fopen(path, "r");
	if (!file)
		return -errno;
	while (!err && fgets(line, sizeof(line), file)) {
		if (data->n == room) {
			struct image *more;

			room = room ? 2 * room : 1024;
			more = reallocarray(data->images, room, sizeof(*more));
			if (!more) {
				err = -ENOMEM;
				break;
			}
			data->images = more;
		}
		err = parse(line, &data->images[data->n]);
		if (err)
			fprintf(stderr, "digits: %s:%zu: not 64 pixels and a label\n",
				path, data->n + 1);
		data->n++;
	}
	fclose(file);
	if (!err && data->n < 2 * BATCH)
		err = -ENODATA;
	data->ntrain = data->n * 4 / 5;
	return err;
}

static void shuffle(struct data *data)
{
	uint64_t state = SEED;
	struct image swap;
	size_t i, j;

	for (i = data->n - 1; i; i--) {
		j = next_random(&state) % (i + 1);
		swap = data->images[i];
		data->images[i] = data->images[j];
		data->images[j] = swap;
	}
}

/* Compute the probabilities of the classes. */
static void predict(const double *weights, const struct image *image,
		    double probability[CLASSES])
{
	double highest, sum = 0;
	int class, i;

	for (class = 0; class < CLASSES; class++) {
		const double *weight = weights + class * FEATURES;

		probability[class] = 0;
		for (i = 0; i < FEATURES; i++)
			probability[class] += weight[i] * image->feature[i];
	}
	highest = probability[0];
	for (class = 1; class < CLASSES; class++)
		highest = fmax(highest, probability[class]);
	for (class = 0; class < CLASSES; class++) {
		probability[class] = exp(probability[class] - highest);
		sum += probability[class];
	}
	for (class = 0; class < CLASSES; class++)
		probability[class] /= sum;
}

/* Add the gradient of one image.  Return: its loss. */
static double learn(struct trainer *trainer, const struct image *image)
{
	double probability[CLASSES], loss;
	int class, i;

	predict(trainer->weights, image, probability);
	loss = -log(fmax(probability[image->label], DBL_MIN));
	for (class = 0; class < CLASSES; class++) {
		double *gradient = trainer->gradient + class * FEATURES;
		double error = probability[class] - (class == image->label);

		for (i = 0; i < FEATURES; i++)
			gradient[i] += error * image->feature[i];
	}
	return loss;
}

static int sum(struct trainer *trainer, double *values, size_t count)
{
	if (!trainer->comm)
		return 0;
	return coll_allreduce(trainer->comm, COLL_IN_PLACE, values, count,
			      COLL_FLOAT64, COLL_SUM);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

/* Sum the gradients of the mini-batch [@from, @to) over all ranks, and make the step. */
static int step(struct trainer *trainer, size_t from, size_t to)
{
	struct spent *spent = &trainer->spent;
	double begin = now();
	size_t i;
	int err;

	memset(trainer->gradient, 0, WEIGHTS * sizeof(double));
	for (i = from + trainer->rank; i < to; i += trainer->nranks)
		spent->loss += learn(trainer, &trainer->data->images[i]);
	spent->compute -= begin;
	begin = now();
	spent->compute += begin;
	err = sum(trainer, trainer->gradient, WEIGHTS);
	if (err)
		return err;
	spent->collectives -= begin;
	begin = now();
	spent->collectives += begin;
	for (i = 0; i < WEIGHTS; i++)
		trainer->weights[i] -= STEP *
			(trainer->gradient[i] / (to - from) +
			 DECAY * trainer->weights[i]);
	spent->compute += now() - begin;
	return 0;
}

/* Show where the time went, averaged over the ranks. */
static void show_times(const struct spent *total, int epochs)
{
	double all = total->compute + total->collectives;

	printf("\n%-12s %8s %10s %7s\n", "time of", "total", "an epoch", "share");
	printf("%-12s %6.2f s %7.1f ms %5.1f %%\n", "compute", total->compute,
	       1000 * total->compute / epochs, 100 * total->compute / all);
	printf("%-12s %6.2f s %7.1f ms %5.1f %%\n\n", "collectives", total->collectives,
	       1000 * total->collectives / epochs, 100 * total->collectives / all);
}

static int train(struct trainer *trainer, int epochs)
{
	size_t n = trainer->data->ntrain, from, to;
	struct spent *spent = &trainer->spent, total = { 0 };
	int epoch, err = 0;

	memset(trainer->weights, 0, WEIGHTS * sizeof(double));
	for (epoch = 1; !err && epoch <= epochs; epoch++) {
		memset(spent, 0, sizeof(*spent));
		for (from = 0; !err && from < n; from = to) {
			to = from + BATCH < n ? from + BATCH : n;
			err = step(trainer, from, to);
		}
		if (!err)
			err = sum(trainer, (double *)spent, sizeof(*spent) / sizeof(double));
		spent->compute /= trainer->nranks;
		spent->collectives /= trainer->nranks;
		total.compute += spent->compute;
		total.collectives += spent->collectives;
		if (!err && trainer->comm && !trainer->rank) {
			printf("epoch %2d of %d  loss %.6f  ", epoch, epochs, spent->loss / n);
			printf("compute %6.1f ms  collectives %6.1f ms\n",
			       1000 * spent->compute, 1000 * spent->collectives);
			fflush(stdout);
		}
	}
	if (!err && trainer->comm && !trainer->rank)
		show_times(&total, epochs);
	return err;
}

/* Each rank tests its share of the images that were not used for training. */
static int test(struct trainer *trainer, double *accuracy)
{
	const struct data *data = trainer->data;
	double probability[CLASSES], right = 0;
	int class, best, err;
	size_t i;

	for (i = data->ntrain + trainer->rank; i < data->n;
	     i += trainer->nranks) {
		predict(trainer->weights, &data->images[i], probability);
		best = 0;
		for (class = 1; class < CLASSES; class++)
			if (probability[class] > probability[best])
				best = class;
		right += best == data->images[i].label;
	}
	err = sum(trainer, &right, 1);
	*accuracy = right / (data->n - data->ntrain);
	return err;
}

/* The bits are equal on all ranks if their minimum and maximum are. */
static int same_everywhere(const struct trainer *trainer, int *same)
{
	uint64_t low[WEIGHTS], high[WEIGHTS];
	int err;

	_Static_assert(sizeof(low[0]) == sizeof(trainer->weights[0]), "bits");
	err = coll_allreduce(trainer->comm, trainer->weights, low, WEIGHTS,
			     COLL_UINT64, COLL_MIN);
	if (!err)
		err = coll_allreduce(trainer->comm, trainer->weights, high,
				     WEIGHTS, COLL_UINT64, COLL_MAX);
	*same = !memcmp(low, high, sizeof(low));
	return err;
}

/* Rank 0 trains again without the others, and compares. */
static int compare_alone(const struct trainer *trainer, int epochs)
{
	struct trainer alone = { .nranks = 1, .data = trainer->data };
	double difference = 0;
	int i, pass = 0;

	alone.weights = calloc(WEIGHTS, sizeof(double));
	alone.gradient = calloc(WEIGHTS, sizeof(double));
	if (alone.weights && alone.gradient) {
		train(&alone, epochs);
		for (i = 0; i < WEIGHTS; i++)
			difference = fmax(difference,
					  fabs(alone.weights[i] -
					       trainer->weights[i]));
		pass = difference <= TOLERANCE;
		printf("1 rank    weights differ by at most %.3g, %g allowed: %s\n",
		       difference, TOLERANCE, pass ? "pass" : "FAIL");
	}
	free(alone.gradient);
	free(alone.weights);
	return pass;
}

/* Train, test and compare; *@pass: all results are as expected. */
static int work(struct trainer *trainer, int epochs, const char *show,
		int *pass)
{
	double accuracy;
	int err, same;

	err = train(trainer, epochs);
	if (!err)
		err = test(trainer, &accuracy);
	if (!err)
		err = same_everywhere(trainer, &same);
	if (err)
		return err;
	*pass = accuracy >= ACCURACY_MIN && same;
	if (!trainer->rank) {
		printf("test      accuracy %.2f %%, at least %.0f %% wanted: %s\n",
		       100 * accuracy, 100 * ACCURACY_MIN,
		       accuracy >= ACCURACY_MIN ? "pass" : "FAIL");
		printf("%d rank%s   bitwise the same weights everywhere: %s\n",
		       trainer->nranks, trainer->nranks > 1 ? "s" : " ",
		       same ? "pass" : "FAIL");
		*pass &= compare_alone(trainer, epochs);
		fflush(stdout);
		/* While the group exists, because its counters disappear with it. */
		if (show && system(show))
			fprintf(stderr, "digits: failed: %s\n", show);
	}
	return coll_allreduce(trainer->comm, COLL_IN_PLACE, pass, 1,
			      COLL_INT32, COLL_MIN);
}

static int run(const char *path, int epochs, const char *show)
{
	char detail[COLL_DETAIL_SIZE];
	struct coll_config config = {
		.size = sizeof(config),
		.detail = detail,
		.detail_size = sizeof(detail),
	};
	struct trainer trainer = { 0 };
	struct data data;
	int err, pass = 0;

	err = read_data(path, &data);
	if (err) {
		fprintf(stderr, "digits: %s: %s\n", path, strerror(-err));
		goto free;
	}
	shuffle(&data);
	err = coll_init(&trainer.comm, &config);
	if (err) {
		fprintf(stderr, "digits: %s: %s\n", coll_strerror(err), detail);
		goto free;
	}
	trainer.rank = coll_rank(trainer.comm);
	trainer.nranks = coll_size(trainer.comm);
	trainer.data = &data;
	trainer.weights = coll_mem_alloc(trainer.comm,
					 WEIGHTS * sizeof(double));
	trainer.gradient = coll_mem_alloc(trainer.comm,
					  WEIGHTS * sizeof(double));
	if (!trainer.weights || !trainer.gradient) {
		perror("digits");
		goto finalize;
	}
	if (!trainer.rank)
		printf("digits    %zu images to train, %zu to test, gradient %zu bytes, group %s\n",
		       data.ntrain, data.n - data.ntrain,
		       WEIGHTS * sizeof(double), coll_name(trainer.comm));
	err = work(&trainer, epochs, show, &pass);
	if (err)
		fprintf(stderr, "digits: rank %d: %s (%s)\n", trainer.rank,
			coll_strerror(err), coll_error_detail(trainer.comm));
finalize:
	coll_finalize(trainer.comm);
free:
	free(data.images);
	return !err && pass ? 0 : 1;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "epochs", required_argument, NULL, 'e' },
		{ "show", required_argument, NULL, 's' },
		{ 0 }
	};
	const char *show = NULL;
	int epochs = 20, option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == 'e')
			epochs = atoi(optarg);
		else if (option == 's')
			show = optarg;
		else
			optind = argc;
	}
	if (optind != argc - 1 || epochs < 1) {
		fprintf(stderr,
			"usage: digits [--epochs N] [--show COMMAND] digits.csv\n");
		return 2;
	}
	return run(argv[optind], epochs, show);
}
