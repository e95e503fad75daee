! SPDX-License-Identifier: GPL-2.0-only
! Collectives out of Fortran, with its types, constants and array sections.
program language
  use mpi
  implicit none
  integer :: rank, ranks, ierr, round, i, request
  integer :: status(MPI_STATUS_SIZE)
  double precision :: mine(100), total(100)
  complex :: numbers(3), sums(3)
  logical :: here, all_of_them
  integer, allocatable :: gathered(:), counts(:), displs(:)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate(gathered(ranks * (ranks + 1) / 2), counts(ranks), displs(ranks))
  do i = 1, ranks
    counts(i) = i
    displs(i) = i * (i - 1) / 2
  end do
  do round = 1, 50
    mine = rank + round
    call MPI_Allreduce(mine, total, 100, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (any(total /= ranks * (ranks - 1) / 2 + ranks * round)) call wrong(round)
    call MPI_Allreduce(MPI_IN_PLACE, mine, 100, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, ierr)
    if (any(mine /= ranks - 1 + round)) call wrong(round)
    numbers = cmplx(rank, -rank)
    call MPI_Reduce(numbers, sums, 3, MPI_COMPLEX, MPI_SUM, 0, MPI_COMM_WORLD, ierr)
    if (rank == 0 .and. real(sums(2)) /= ranks * (ranks - 1) / 2) call wrong(round)
    here = rank /= mod(round, ranks + 1)
    call MPI_Allreduce(here, all_of_them, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierr)
    if (all_of_them .neqv. mod(round, ranks + 1) == ranks) call wrong(round)
    gathered = -1
    gathered(displs(rank + 1) + 1 : displs(rank + 1) + rank + 1) = rank * round
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gathered, counts, displs, MPI_INTEGER, &
                        MPI_COMM_WORLD, ierr)
    do i = 1, ranks
      if (any(gathered(displs(i) + 1 : displs(i) + i) /= (i - 1) * round)) call wrong(round)
    end do
    i = rank
    call MPI_Ibcast(i, 1, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, request, ierr)
    call MPI_Wait(request, status, ierr)
    if (i /= ranks - 1) call wrong(round)
    call MPI_Barrier(MPI_COMM_WORLD, ierr)
  end do
  if (rank == 0) print '(a)', 'Fortran is right'
  call MPI_Finalize(ierr)

contains

  subroutine wrong(round)
    integer, intent(in) :: round
    print *, 'wrong in round', round
    call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
  end subroutine wrong

end program language
